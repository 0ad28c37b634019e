import type { Schema } from '$lib/api/client';
import { t } from '$lib/words/index.svelte';

type Message = Schema<'PlatformMessage'>;

/** Messages that arrived, that did not, and those of which nobody knows. */
export function outcome({ state, is_final }: Pick<Message, 'state' | 'is_final'>): 'good' | 'bad' | 'open' {
	if (state === 'delivered' || (state === 'accepted' && is_final)) return 'good';
	return ['expired', 'deleted', 'undeliverable', 'rejected'].includes(state) ? 'bad' : 'open';
}

export function sender({ client }: Pick<Message, 'client'>): string {
	if (client.kind === 'own') return t('messages.own');
	return client.name ?? t('messages.client_gone');
}

/** `by carrier-a`, `the carrier calls it 17`. */
export function stepFacts({ step, route, carrier_id, is_told }: Schema<'PlatformMessageStep'>): string[] {
	return [
		...(route && step !== 'planned' ? [t('messages.by_route', { route })] : []),
		...(carrier_id ? [t('messages.carrier_id', { id: carrier_id })] : []),
		...(is_told === null ? [] : [is_told ? t('messages.told') : t('messages.not_told')])
	];
}
