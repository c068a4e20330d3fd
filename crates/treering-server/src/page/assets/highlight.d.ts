export function highlight(code: HTMLElement): void;
