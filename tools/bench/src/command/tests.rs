use crate::Cli;
use clap::{CommandFactory, Parser};

fn parsed(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(["campanile-bench"].into_iter().chain(line.split_whitespace()))
}

#[test]
fn wrong_usage_ends_with_2_and_help_and_what_makes_sense_with_0() {
    for (line, expected) in [
        ("alert --recipients 10 --channels sms,mail", 0),
        ("alert --channels pager", 0),
        ("alert --recipients 10 --channels webhook", 0),
        ("alert --channels voice", 2),
        ("smpp --side client --window 1,500 --connections 4 --count 10 --fsync os", 0),
        ("smpp --carriers 1,5 --rate 5 --seconds 1", 0),
        ("smpp --paper", 0),
        ("smpp", 2),
        ("smpp --side client --carriers 5", 2),
        ("smpp --side middle", 2),
        ("topics --posters 1,3 --readers 1,3 --depth 64 --durability memory,os --floor", 0),
        ("topics --paper --time-scale 10", 0),
        ("topics --time-scale 10", 2),
        ("diameter --connections 1,50 --window 3200,64 --floor --rounds 5", 0),
        ("diameter --rate 10000,20000 --seconds 5", 0),
        ("diameter --paper --time-scale 10", 0),
        ("diameter --rate 10000 --paper", 2),
        ("diameter --experiment allocator,queue,sharing,affinity,copy,transport", 0),
        ("diameter --experiment allocator --libraries lib --time-scale 100", 0),
        ("diameter --experiment hashing", 2),
        ("diameter --experiment copy --paper", 2),
        ("diameter --libraries lib", 2),
        ("udp --rate 10G --mss 1472 --threads 1,2 --seconds 3", 0),
        ("udp --rate 1G --burst 1 --rule capped --call send --iperf3 --rounds 5", 0),
        ("udp --paper --time-scale 5 --out figures", 0),
        ("udp --time-scale 5", 2),
        ("udp --mss 63", 2),
        ("udp --threads 0", 2),
        ("udp --paper --server 127.0.0.1:4810", 2),
        ("http --sizes", 0),
        ("http --sizes --paper", 2),
        ("http --sizes --seconds 1", 2),
        ("http --paper --time-scale 10", 0),
        ("sign-in --rate 10,50 --users 20 --seconds 1", 0),
        ("sign-in --users 0", 2),
        ("events --streams 10,500 --recipients 1000 --seconds 2", 0),
        ("events --streams 0", 2),
        ("bananas", 2),
        ("", 2),
        ("--help", 0),
        ("smpp --help", 0),
        ("--version", 0),
    ] {
        let code = parsed(line).map_or_else(|error| error.exit_code(), |_| 0);
        assert_eq!(code, expected, "{line}");
    }
}

#[test]
fn every_scenario_has_help_with_examples_as_campanile_runs_them() {
    let command = Cli::command();
    command.clone().debug_assert();
    for scenario in command.get_subcommands().filter(|scenario| !scenario.is_hide_set()) {
        let path = format!("campanile bench {}", scenario.get_name());
        assert!(scenario.get_about().is_some(), "{path}");
        let help = scenario.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains("Example") && help.contains(&path), "{path} --help:\n{help}");
    }
    let error = parsed("alert --bananas").unwrap_err().to_string();
    assert!(error.contains("Usage: campanile bench alert"), "{error}");
}

#[test]
fn a_scenario_needs_campanile_unless_a_server_is_named_or_all_is_the_bench_s_own() {
    for (line, expected) in [
        ("alert", true),
        ("http --sizes", true),
        ("smpp --side client", true),
        ("topics", true),
        ("sign-in", true),
        ("events", true),
        ("diameter --paper", true),
        ("topics --server 127.0.0.1:12345", false),
        ("diameter --server 127.0.0.1:3868", false),
        ("udp", false),
        ("part sink", false),
    ] {
        assert_eq!(parsed(line).unwrap().command.needs_campanile(), expected, "{line}");
    }
}
