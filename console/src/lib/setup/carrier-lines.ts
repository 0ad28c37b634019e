/** Lines of the configuration for a way out, to be pasted into its file. */

export type CarrierKind = 'sms' | 'mail' | 'practice';
export const KINDS: readonly CarrierKind[] = ['sms', 'mail', 'practice'];

export interface CarrierForm {
	name: string;
	address: string;
	login: string;
	/** SMS: number or word; mail: address. */
	sender: string;
	/** Messages a second; empty: no limit. */
	rate: string;
	/** A simulated route for drills beside it, with the same limit. */
	withDrill: boolean;
}

export const EXAMPLES: Record<CarrierKind, CarrierForm> = {
	sms: { name: 'carrier', address: 'smsc.example:2775', login: 'campanile', sender: 'CITY', rate: '20', withDrill: true },
	mail: { name: 'relay', address: 'relay.example:587', login: 'campanile', sender: 'Alerts <alerts@city.example>', rate: '50', withDrill: true },
	practice: { name: 'practice', address: '', login: '', sender: '', rate: '20', withDrill: true }
};

/** What stands where the password is to be written, in the file and nowhere else. */
export const PASSWORD_HERE = 'write the password here';

/** A basic string of TOML. */
export function quoted(text: string): string {
	const escaped = text.replace(/[\\"]/g, '\\$&').replace(/[\u0000-\u001f\u007f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
	return `"${escaped}"`;
}

/** Type of number and numbering plan of a sender: letters, an international number, a short one. */
function source(sender: string): string {
	const digits = sender.replace(/[ ()-]/g, '');
	if (/^\+\d+$/.test(digits)) return `{ton = 1, npi = 1, addr = ${quoted(digits.slice(1))}}`;
	if (/^\d+$/.test(digits)) return `{ton = 3, npi = 0, addr = ${quoted(digits)}}`;
	return `{ton = 5, npi = 0, addr = ${quoted(sender)}}`;
}

function rate(text: string): string[] {
	const value = Number(text.replace(',', '.'));
	return value > 0 ? [`rate = ${Number.isInteger(value) ? value.toFixed(1) : value}`] : [];
}

function table(name: string, channel: 'sms' | 'mail', mode: 'live' | 'drill', keys: string[]): string {
	return ['[[route]]', `name = ${quoted(name)}`, `channel = "${channel}"`, `mode = "${mode}"`, ...keys].join('\n');
}

export function carrierLines(kind: CarrierKind, form: CarrierForm): string {
	const [name, sender] = [form.name.trim(), form.sender.trim()];
	const channel = kind === 'mail' ? 'mail' : 'sms';
	const isMail = kind === 'mail';
	const password = `password = ${quoted(PASSWORD_HERE)}`;
	const address = `address = ${quoted(form.address.trim())}`;
	const from = isMail ? [`from = ${quoted(sender)}`] : [];
	const keys = {
		sms: [address, `system_id = ${quoted(form.login.trim())}`, password, `source = ${source(sender)}`],
		mail: [address, 'tls = "starttls"', `username = ${quoted(form.login.trim())}`, password, ...from],
		practice: ['sim = true']
	};
	const tables = [table(name, channel, 'live', [...keys[kind], ...rate(form.rate)])];
	if (form.withDrill) tables.push(table(`${name}-drill`, channel, 'drill', ['sim = true', ...from, ...rate(form.rate)]));
	return `${tables.join('\n\n')}\n`;
}
