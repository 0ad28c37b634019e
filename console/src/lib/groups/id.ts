/** A name as files and audiences write it: `Östra skolan, vaktmästare` is `ostra-skolan-vaktmastare`. */
export const idOf = (name: string): string =>
	name
		.normalize('NFKD')
		.replace(/\p{M}/gu, '')
		.toLowerCase()
		.replace(/[^\p{L}\p{N}]+/gu, '-')
		.replace(/^-+|-+$/g, '');
