//! Hashes and policy in tables of cases.

use super::policy::{PolicyNames, WeakPassword, check};
use super::*;
use proptest::prelude::*;

/// Quick enough for many cases.
const CHEAP: HashCost = HashCost { memory_kib: 8, passes: 1, lanes: 1 };

#[test]
fn a_new_hash_has_the_current_cost_and_only_its_password_matches() {
    let stored = hash("correct horse battery", [3; SALT_OCTETS]).unwrap();
    assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$AwMDAwMDAwMDAwMDAwMDAw$"), "{stored}");
    assert_eq!(stored.len(), 97);
    assert_eq!(verify("correct horse battery", &stored), Ok(PasswordMatch::Right));
    assert_eq!(verify("correct horse Battery", &stored), Ok(PasswordMatch::Wrong));
    assert_eq!(verify_nobody("correct horse battery"), PasswordMatch::Wrong);
}

#[test]
fn a_hash_of_another_cost_or_length_is_verified_as_it_says_and_needs_a_new_one() {
    let cheap = hash_at(CHEAP, "correct horse battery", [3; SALT_OCTETS]).unwrap();
    assert_eq!(verify("correct horse battery", &cheap), Ok(PasswordMatch::RightNeedsRehash));
    assert_eq!(verify("correct horse", &cheap), Ok(PasswordMatch::Wrong));
}

#[test]
fn hashes_are_those_that_the_reference_program_writes() {
    // The reference implementation's own test of the library: "password", "somesalt".
    let stored = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    let small = "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc";
    assert_eq!(verify("password", small), Ok(PasswordMatch::RightNeedsRehash));
    assert_eq!(verify("passwore", small), Ok(PasswordMatch::Wrong));
    assert!(PhcString::read(stored).is_ok_and(|read| read.write() == stored));
}

#[test]
fn a_stored_string_of_another_form_or_beyond_the_limits_is_refused() {
    let cost = |memory_kib, passes, lanes| HashError::Cost(HashCost { memory_kib, passes, lanes });
    for (stored, error) in [
        ("", HashError::Form),
        ("$2b$10$abcdefghijklmnopqrstuv", HashError::Form),
        ("$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5Q", HashError::Form),
        ("$argon2id$v=16$m=8,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5Q", HashError::Form),
        ("$argon2id$v=19$t=1,m=8,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5Q", HashError::Form),
        ("$argon2id$v=19$m=+8,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5Q", HashError::Form),
        ("$argon2id$v=19$m=8,t=1,p=1,x=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5Q", HashError::Form),
        ("$argon2id$v=19$m=8,t=1,p=1$c29t$CTFhFdXPJO1aFaMaO6Mm5Q", HashError::Form),
        ("$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$", HashError::Form),
        ("$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5Q$", HashError::Form),
        ("$argon2id$v=19$m=4000000,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5Q", cost(4_000_000, 1, 1)),
        ("$argon2id$v=19$m=8,t=99,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5Q", cost(8, 99, 1)),
        ("$argon2id$v=19$m=999,t=1,p=99$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5Q", cost(999, 1, 99)),
        (
            "$argon2id$v=19$m=1,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5Q",
            HashError::Refused(HashCost { memory_kib: 1, passes: 1, lanes: 1 }),
        ),
    ] {
        assert_eq!(verify("x", stored), Err(error), "{stored}");
    }
    assert_eq!(verify("x", &format!("$argon2id$v=19${}", "m".repeat(1_000))), Err(HashError::Form));
}

#[test]
fn one_password_is_the_same_from_every_keyboard() {
    let stored = hash_at(CHEAP, "b\u{e5}t p\u{e5} sj\u{f6}n", [3; SALT_OCTETS]).unwrap();
    let decomposed = "ba\u{30a}t\u{a0}pa\u{30a}\u{3000}sjo\u{308}n";
    assert_eq!(verify(decomposed, &stored), Ok(PasswordMatch::RightNeedsRehash));
    assert_eq!(verify("bat pa sjon", &stored), Ok(PasswordMatch::Wrong));
}

#[test]
fn a_password_that_is_longer_than_any_never_matches_its_beginning() {
    let longest = "\u{1f512}".repeat(policy::CHARACTERS_MAX);
    let stored = hash_at(CHEAP, &longest, [3; SALT_OCTETS]).unwrap();
    assert_eq!(verify(&longest, &stored), Ok(PasswordMatch::RightNeedsRehash));
    assert_eq!(verify(&format!("{longest}x"), &stored), Ok(PasswordMatch::Wrong));
}

#[test]
fn passwords_that_would_be_guessed_first_are_refused_by_their_reason() {
    let names = PolicyNames {
        site: &["Campanile", "Town of Uppsala"],
        user: &["anna.oberg@example.org", "Anna", "Öberg"],
    };
    for (password, reason) in [
        ("", WeakPassword::TooShort { characters: 0 }),
        ("x7#kQ2!vLp9", WeakPassword::TooShort { characters: 11 }),
        ("åäöåäöåäöåä", WeakPassword::TooShort { characters: 11 }),
        ("correct horse\tbattery", WeakPassword::Control),
        ("correct horse battery\n", WeakPassword::Control),
        ("aaaaaaaaaaaa", WeakPassword::Repeated),
        ("xk!xk!xk!xk!xk", WeakPassword::Repeated),
        ("zzzzzz......", WeakPassword::Repeated),
        ("123456789012", WeakPassword::Sequential),
        ("abcdefghijkl", WeakPassword::Sequential),
        ("zyxwvuts9876", WeakPassword::Sequential),
        ("asdfghjkl;'1", WeakPassword::Sequential),
        ("1qaz2wsx3edc", WeakPassword::Sequential),
        ("password1234", WeakPassword::Common),
        ("P@$$w0rd2026", WeakPassword::Common),
        ("passwordpassword", WeakPassword::Common),
        ("Summer2026!!", WeakPassword::Common),
        ("LetMeIn!!!!!!!", WeakPassword::Common),
        ("iloveyou1999", WeakPassword::Common),
        ("Välkommen2026", WeakPassword::Common),
        ("1234qwerty!!", WeakPassword::Common),
        ("Campanile2026", WeakPassword::NameOfSite),
        ("uppsala123456", WeakPassword::NameOfSite),
        ("c4mpan1le!!!!", WeakPassword::NameOfSite),
        ("Anna.Oberg.1985", WeakPassword::NameOfUser),
        ("anna.oberg@example.org", WeakPassword::NameOfUser),
        ("öberg öberg öberg", WeakPassword::NameOfUser),
    ] {
        assert_eq!(check(password, names), Err(reason), "{password}");
    }
}

#[test]
fn passwords_that_nobody_would_guess_first_are_allowed() {
    let names = PolicyNames { site: &["Campanile"], user: &["anna@example.org"] };
    for password in [
        "correct horse battery",
        "fyra gula cyklar i regn",
        "x7#kQ2!vLp9z",
        "annas katt heter Ture",
        "k9Wq-T3mz-Pb5d",
        "密码安全很重要请使用长的句子",
        &"ord i rad ".repeat(3).replace("rad ord", "stad bord"),
    ] {
        assert_eq!(check(password, names), Ok(()), "{password}");
    }
}

#[test]
fn the_longest_password_is_allowed_and_one_more_character_is_not() {
    let longest: String = ('\u{4e00}'..).step_by(7).take(policy::CHARACTERS_MAX).collect();
    assert_eq!(check(&longest, PolicyNames::default()), Ok(()));
    assert_eq!(check(&format!("{longest}x"), PolicyNames::default()), Err(WeakPassword::TooLong));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(64)))]

    #[test]
    fn every_stored_string_is_read_or_refused(text in "(\\$argon2id\\$v=19\\$)?.{0,80}") {
        if let Ok(read) = PhcString::read(&text) {
            prop_assert_eq!(read.write(), text);
        }
    }

    #[test]
    fn every_password_matches_its_own_hash(password in ".{0,40}", salt: [u8; SALT_OCTETS]) {
        let stored = hash_at(CHEAP, &password, salt).unwrap();
        prop_assert_eq!(verify(&password, &stored), Ok(PasswordMatch::RightNeedsRehash));
    }

    #[test]
    fn the_policy_has_an_answer_for_every_text(password in ".{0,60}", name in ".{0,20}") {
        let names = PolicyNames { site: &[&name], user: &[&password] };
        let answer = check(&password, names);
        let characters = prepared(&password).chars().count();
        prop_assert!(answer.is_err() || characters >= policy::CHARACTERS_MIN);
    }
}
