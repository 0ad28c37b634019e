//! The config as the API shows it, and another text of it checked.

use super::{Config, FILE, Place, Problems, SettingsProblem, environment, parse_all, warnings};
use doors::http::{CheckedConfig, ConfigKey, ConfigProblem, ConfigSection, ShownConfig};
use settings::{Section, ShownKey, ShownSection};
use std::path::Path;

/// The config of a file and the environment as they are now, without secrets: files of secrets are not read.
///
/// # Errors
/// The file cannot be read, in words.
pub(crate) fn shown(file: Option<&Path>) -> Result<ShownConfig, String> {
    let path = file.unwrap_or(Path::new(FILE));
    let found = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && file.is_none() => None,
        Ok(text) => Some(text),
        Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
    };
    // What is wrong with it now is for the check, and for a reload.
    let mut problems = Problems::new(path.display().to_string());
    let mut root = settings::parse(found.as_deref().unwrap_or_default(), &mut problems);
    settings::overlay(&mut root, super::ENVIRONMENT_PREFIX, &environment(), &mut problems);
    let sections = settings::shown(&root, &Config::outline()).into_iter().map(section).collect();
    Ok(ShownConfig { file: found.map(|_| path.display().to_string()), sections })
}

/// What `campanile check` says of a text, in the place of `file` and with the environment of this process.
pub(crate) fn checked(text: &str, file: Option<&Path>, data: &Path) -> CheckedConfig {
    let path = file.unwrap_or(Path::new(FILE));
    let (config, secrets, found) = parse_all(text, &path.display().to_string(), data, &environment());
    let problem = |problem: &SettingsProblem| ConfigProblem {
        place: found.place(problem),
        line: line(&problem.place),
        field: problem.field.clone(),
        reason: problem.reason.clone(),
    };
    let problems: Vec<ConfigProblem> = found.list().iter().map(problem).collect();
    let ok = found.is_empty();
    let warnings = if ok { warnings::of(&config, &secrets, path) } else { Vec::new() };
    CheckedConfig { ok, problems, warnings }
}

fn section(section: ShownSection) -> ConfigSection {
    let line = line(&section.place);
    ConfigSection { path: section.path, line, keys: section.keys.into_iter().map(key).collect() }
}

fn key(key: ShownKey) -> ConfigKey {
    let environment = match &key.place {
        Place::Environment(name) => Some(name.clone()),
        Place::File { .. } | Place::Nowhere => None,
    };
    ConfigKey {
        name: key.name,
        value: key.value,
        is_set: key.is_set,
        is_secret: key.is_secret,
        line: line(&key.place),
        environment,
    }
}

fn line(place: &Place) -> Option<usize> {
    match place {
        Place::File { line, .. } => Some(*line),
        Place::Environment(_) | Place::Nowhere => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::{KeyDoc, Outline, Schema};

    /// Paths of all secrets of the config, such as `smpp.client.password`.
    fn secrets(outline: &Outline, path: &str, found: &mut Vec<String>) {
        let of_variants = outline.variants.iter().flat_map(|variant| &variant.outline.keys);
        for KeyDoc { name, schema, .. } in outline.keys.iter().chain(of_variants) {
            let path = settings::join(path, name);
            match schema.section() {
                Some(section) => secrets(&section, &path, found),
                None if matches!(schema, Schema::Secret) => found.push(path),
                None => {}
            }
        }
    }

    #[test]
    fn no_secret_of_the_config_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        let text = "[store]\nurl = \"postgres://me:hush@db/x\"\n[bus]\nurl = \"nats://me:hush@a:1\"\ntoken = \"hush\"\n\
            [callback]\nsecret = \"hush\"\n\
            [[route]]\nname = \"a\"\nchannel = \"sms\"\nmode = \"live\"\npassword = \"hush\"\noutbind_password = \"hush\"\n\
            [[route]]\nname = \"b\"\nchannel = \"webhook\"\nmode = \"live\"\nsecret = \"hush\"\n\
            headers = {Authorization = \"Bearer hush\"}\nbody = \"{\\\"key\\\": \\\"hush\\\"}\"\n\
            [[route]]\nname = \"c\"\nchannel = \"sms\"\nmode = \"live\"\nprotocol = \"http\"\n\
            request = {url = \"https://x/?k=hush\", headers = [\"X: hush\"], body = \"hush\"}\n\
            [[smpp.client]]\nsystem_id = \"bank\"\npassword = \"hush\"\naccount = \"a\"\n\
            [[platform]]\nusername = \"water\"\npassword = \"hush\"\ncallback = \"http://x/hush?pw=hush\"\n\
            dlr_url = \"http://x/dlr?pw=hush\"\n\
            [[send]]\nname = \"evac\"\npin = \"hush\"\n[oidc]\nclient_secret = \"hush\"\n\
            [[directory]]\nname = \"d\"\npassword = \"hush\"\n";
        std::fs::write(&file, text).unwrap();
        let shown = shown(Some(&file)).unwrap();
        let all = format!("{shown:?}");
        assert!(!all.contains("hush"), "{all}");
        let key = |path: &str, name: &str| {
            let section = shown.sections.iter().find(|section| section.path == path);
            let section = section.unwrap_or_else(|| panic!("no {path} in {all}"));
            section.keys.iter().find(|key| key.name == name).unwrap().clone()
        };
        let password = key("route[0]", "password");
        assert!(password.is_set && password.is_secret && password.value.is_none(), "{password:?}");
        assert_eq!(password.line, Some(12));
        assert_eq!(key("route[0]", "channel").value.as_deref(), Some("\"sms\""));
        assert_eq!(key("bus", "url").value.as_deref(), Some("\"nats://a:1\""));
        let unset = key("bus", "password");
        assert!(!unset.is_set && unset.is_secret, "{unset:?}");
        let mut paths = Vec::new();
        secrets(&Config::outline(), "", &mut paths);
        assert!(paths.contains(&"smpp.client.password".to_owned()), "{paths:?}");
    }

    #[test]
    fn a_text_is_checked_as_the_command_checks_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let wrong = checked("[http]\nlisten = \"127.0.0.1:0\"\n[[rout]]\n", None, folder.path());
        assert!(!wrong.ok && wrong.warnings.is_empty(), "{wrong:?}");
        let problem = &wrong.problems[0];
        assert_eq!((problem.line, problem.field.as_str()), (Some(3), "rout"), "{wrong:?}");
        assert_eq!(problem.place, "campanile.toml:3:3");
        let open = checked("[http]\nlisten = \"0.0.0.0:8080\"\n", None, folder.path());
        assert!(open.ok && open.warnings[0].contains("beyond loopback"), "{open:?}");
    }
}
