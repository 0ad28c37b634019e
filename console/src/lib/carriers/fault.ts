/** Keys of a route that are at fault, by what its note says; the first one that fits. */
const FAULTS: [RegExp, 'password' | 'system_id' | 'tls' | 'address'][] = [
	[/RINVPASWD|invalid password|wrong password|\b535\b|authentication failed/i, 'password'],
	[/RINVSYSID|invalid system.?id/i, 'system_id'],
	[/not SMPP|certificate|handshake|\bTLS\b/i, 'tls'],
	[/connection refused|timed out|no route to host|unreachable|could not be resolved|name or service|does not answer/i, 'address']
];

/** The key of the configuration to look at, where the note of a route tells; else null. */
export const faultOf = (note: string): (typeof FAULTS)[number][1] | null => FAULTS.find(([mark]) => mark.test(note))?.[1] ?? null;
