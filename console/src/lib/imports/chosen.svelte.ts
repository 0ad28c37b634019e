import { HEAD_OCTETS, headOf, type Choice, type FileHead } from './file';

/** The file that somebody chose, kept while they look at what it would do: columns can be matched again. */
class Chosen {
	file = $state.raw<File | null>(null);
	head = $state.raw<FileHead | null>(null);
	choices = $state<Choice[]>([]);

	async take(file: File): Promise<void> {
		const octets = await file.slice(0, HEAD_OCTETS).arrayBuffer();
		this.head = headOf(decode(octets));
		this.choices = this.head.columns.map(() => 'heading');
		this.file = file;
	}

	forget(): void {
		this.file = null;
		this.head = null;
		this.choices = [];
	}
}

/** UTF-8 if it can be that, else what spreadsheets write. The end may be cut within a letter. */
function decode(octets: ArrayBuffer): string {
	const begin = new Uint8Array(octets.slice(0, 2));
	if (begin[0] === 0xff && begin[1] === 0xfe) return new TextDecoder('utf-16le').decode(octets);
	try {
		return new TextDecoder('utf-8', { fatal: true }).decode(octets, { stream: true });
	} catch {
		return new TextDecoder('windows-1252').decode(octets);
	}
}

export const chosen = new Chosen();
