import type { Schema } from '$lib/api/client';
import { t } from '$lib/words/index.svelte';

/** Which entry of the audience holds somebody, in words: `In the group harbour, by its rule`. */
export function entryWords({ entry, field, groups, is_listed, by_rule }: Schema<'MatchedEntry'>): string {
	const [kind, value] = split(entry);
	if (field.startsWith('area') || kind === 'area') return t('people_of_alert.entry_area');
	if (kind === 'all') return t('people_of_alert.entry_all');
	if (kind === 'group') {
		const how = by_rule ? 'rule' : is_listed ? 'listed' : groups.length > 1 || (groups[0] && groups[0] !== value) ? 'nested' : 'member';
		return t('people_of_alert.entry_group', { group: value, how, inner: groups.filter((group) => group !== value).join(', ') || 'none' });
	}
	if (kind === 'alert') return t('people_of_alert.entry_alert');
	return t('people_of_alert.entry_named', { entry });
}

/** `group:harbour` is a group called harbour. */
function split(entry: string): [kind: string, value: string] {
	const at = entry.indexOf(':');
	return at < 0 ? [entry, ''] : [entry.slice(0, at), entry.slice(at + 1)];
}
