import type { Plugin } from 'vite';

export function licensesFile(): Plugin;
