// Screenshots of the main screens.

import { join } from 'node:path';

const phone = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

export async function shots(dir, { open }) {
  const screens = [
    ['sessions', '/', {}],
    ['sessions-dark', '/', { colorScheme: 'dark' }],
    ['search', '/?q=timer', {}],
    ['session', '/s/rich', {}],
    ['session-dark', '/s/branches', { colorScheme: 'dark' }],
    ['long', '/s/long', {}],
    ['compacted', '/s/compacted?entry=k7', {}],
    ['context', '/s/branches/context?entry=b10', {}],
    ['compare', '/s/branches/compare?a=b8', {}],
    ['phone-sessions', '/', phone],
    ['phone-session', '/s/branches', phone],
    ['usage', '/usage?days=', {}],
    ['usage-models', '/usage?by=project&days=&measure=tokens', { colorScheme: 'dark' }],
    ['login', '/login', { login: false }],
  ];
  for (const [name, path, options] of screens) {
    const page = await open(path, options);
    await page.waitForLoadState('load');
    await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
    await page.screenshot({ path: join(dir, `${name}.png`) });
    await page.context().close();
  }
}
