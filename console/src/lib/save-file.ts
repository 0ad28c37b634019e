/** A browser may begin to read a file only after the click. */
const KEPT_MS = 10_000;

/** Has the browser keep a file under this name. */
export function saveFile(name: string, content: Blob): void {
	const url = URL.createObjectURL(content);
	const link = document.createElement('a');
	link.href = url;
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
