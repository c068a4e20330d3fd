// What a reader can do with an export, and what an export must not do. One function, one check.

import assert from 'node:assert/strict';

const rows = page => page.$$eval('#tree .row', all => all.map(row => row.querySelector('.preview').textContent));
const count = page => page.textContent('#count');
const said = page => page.$$eval('#path article', all => all.map(entry => entry.id.replace('entry-', '')));
const settled = page => page.waitForTimeout(120);

export async function the_tree_and_the_active_branch({ open, pages }) {
  const page = await open(pages.rich);
  const shown = await rows(page);
  assert.equal(shown[0], 'The nightly import takes 41 minutes since we added the tariff table. It used to be 6. Can you find out why?');
  assert.ok(shown.includes('[read: src/import.rs:1-60]'));
  assert.equal(await page.title(), 'Make the nightly import fast again');
  // A side branch comes before the entry that continues its parent.
  const place = start => shown.findIndex(text => text.startsWith(start));
  assert.ok(place('Try the database join') >= 0);
  assert.ok(place('Try the database join') < place('Leave the database'));
  const entries = await said(page);
  assert.ok(entries.includes('u1') && !entries.includes('u3'));
  assert.equal(await page.getAttribute('.row.leaf', 'aria-selected'), 'true');
}

export async function the_active_path_is_flat_and_side_branches_are_indented({ open, pages }) {
  const page = await open(pages.rich);
  const level = text => page.$$eval('#tree .row', (all, text) => +all.find(row => row.textContent.includes(text)).getAttribute('aria-level'), text);
  assert.equal(await level('The nightly import'), 1);
  assert.equal(await level('Two ways'), 1);
  assert.equal(await level('Leave the database'), 1);
  assert.equal(await level('git diff'), 1);
  assert.equal(await level('Try the database join'), 2);
  assert.equal(await level('stop scanning'), 2);
}

export async function filters({ open, pages }) {
  const page = await open(pages.rich);
  const choose = async filter => { await page.click(`#filters [data-filter="${filter}"]`); return rows(page); };
  const all = await choose('all');
  assert.equal(await count(page), '33 of 33 entries shown'.replace('33 of', `${all.length} of`));
  assert.ok((await choose('default')).length > (await choose('no-tools')).length);
  assert.ok(!(await rows(page)).some(text => text.startsWith('[bash')));
  assert.equal((await choose('user-only')).length, 6);
  assert.equal((await choose('labeled-only')).length, 2);
  await page.keyboard.press('f');
  assert.equal(await page.getAttribute('#filters [data-filter=all]', 'aria-checked'), 'true');
}

export async function search_wants_all_words({ open, pages }) {
  const page = await open(pages.rich);
  await page.keyboard.press('/');
  await page.keyboard.type('GIST index');
  await page.waitForFunction(() => document.getElementById('count').textContent.startsWith('2 of'));
  await page.fill('#search', 'assistant lateral');
  await page.waitForFunction(() => document.getElementById('count').textContent.startsWith('1 of'));
  await page.keyboard.press('Enter');
  await settled(page);
  assert.ok((await said(page)).includes('b1'), 'the branch of the match is shown');
  await page.fill('#search', 'no such words');
  await page.waitForFunction(() => document.getElementById('count').textContent.startsWith('0 of'));
  await page.focus('#search');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.getElementById('count').textContent.startsWith('27 of'));
}

export async function a_click_in_the_tree_shows_the_branch({ open, pages }) {
  const page = await open(pages.rich);
  await page.click('#tree .row:has-text("Try the database join")');
  await settled(page);
  const entries = await said(page);
  assert.deepEqual(entries.slice(-4), ['u3', 'b1', 'b2', 'b3']);
  assert.ok(!entries.includes('u4'));
  assert.equal(new URL(page.url()).hash, '#entry-u3');
}

export async function arrows_switch_branches({ open, pages }) {
  const page = await open(`${pages.rich}#entry-a7`);
  const ways = () => page.textContent('#entry-a7 .ways, #entry-a8 .ways, #entry-a9 .ways');
  assert.equal(await ways(), '‹1/3›');
  await page.click('#entry-a7 .ways button:last-child');
  await settled(page);
  assert.equal(await ways(), '‹2/3›');
  assert.equal((await said(page)).at(-1), 'a8');
  await page.keyboard.press(']');
  await settled(page);
  assert.equal((await said(page)).at(-1), 'a9');
  await page.click('#entry-a9 .ways button:last-child');
  await settled(page);
  assert.equal((await said(page)).at(-1), 'a10');
}

export async function links_lead_to_entries({ open, pages }) {
  const page = await open(`${pages.rich}#entry-b2`);
  await settled(page);
  assert.ok((await said(page)).includes('b2'));
  const top = await page.$eval('#entry-b2', entry => entry.getBoundingClientRect().top);
  assert.ok(top >= -10 && top < 860, `${top}`);
  await page.evaluate(() => { location.hash = '#entry-a6'; });
  await settled(page);
  assert.ok((await said(page)).includes('a6'));
}

export async function the_tree_by_keys({ open, pages }) {
  const page = await open(pages.rich);
  const focused = () => page.evaluate(() => document.activeElement.querySelector?.('.preview')?.textContent);
  await page.focus('#tree .row[tabindex="0"]');
  assert.equal(await page.$$eval('#tree .row[tabindex="0"]', all => all.length), 1);
  await page.keyboard.press('Home');
  assert.match(await focused(), /^The nightly import/);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), '[read: src/import.rs:1-60]');
  await page.click('#tree .row:has-text("Try the database join")');
  const before = (await rows(page)).length;
  await page.keyboard.press('ArrowLeft');
  assert.ok((await rows(page)).length < before, 'folded');
  assert.match(await focused(), /^Try the database join/);
  await page.keyboard.press('ArrowRight');
  assert.equal((await rows(page)).length, before);
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.equal((await said(page)).at(-1), 'a10');
  await page.keyboard.press('?');
  assert.equal(await page.isVisible('#keys'), true);
  await page.keyboard.press('Escape');
  assert.equal(await page.isVisible('#keys'), false);
}

export async function what_is_in_an_entry({ open, pages }) {
  const page = await open(`${pages.rich}#entry-a4`);
  await settled(page);
  assert.equal(await page.$$eval('#entry-a4 .diff del', all => all.length), 6);
  assert.equal(await page.$$eval('#entry-a4 .diff ins', all => all.length), 2);
  assert.ok(await page.$('#entry-a4 details:not([open]) .hl-w'), 'code has colors');
  await page.waitForFunction(() => document.querySelector('#entry-r6 img').naturalWidth === 470);
  assert.equal(await page.$eval('#entry-a1 .think', details => details.open), false);
}

export async function light_and_dark({ open, pages }) {
  const color = page => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [light, dark] = [await open(pages.rich), await open(pages.rich, { colorScheme: 'dark' })];
  assert.notEqual(await color(light), await color(dark));
  const before = await color(light);
  await light.click('#theme');
  assert.equal(await color(light), await color(dark));
  await light.keyboard.press('t');
  assert.equal(await color(light), before);
}

export async function a_phone({ open, pages }) {
  const page = await open(pages.rich, { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true });
  assert.equal(await page.isVisible('#side'), false);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `${wide}`);
  await page.tap('#menu');
  await page.waitForTimeout(300);
  await page.tap('#tree .row:has-text("Try the database join")');
  await page.waitForTimeout(300);
  assert.equal(await page.isVisible('#side'), false);
  assert.ok((await said(page)).includes('u3'));
}

export async function hostile_content_is_inert({ open, pages }) {
  const page = await open(pages.hostile);
  await page.click('#filters [data-filter=all]');
  const ids = await page.evaluate(() => JSON.parse(document.getElementById('index').textContent).ids);
  for (const id of ids) {
    await page.evaluate(hash => { location.hash = hash; }, `#entry-${encodeURIComponent(id)}`);
    await page.waitForTimeout(30);
  }
  await page.evaluate(() => document.querySelectorAll('details').forEach(details => { details.open = true; }));
  await page.waitForTimeout(300);
  const found = await page.evaluate(() => {
    const all = [...document.querySelectorAll('#app *')];
    return {
      pwned: window.pwned,
      handlers: all.flatMap(element => [...element.attributes].filter(attribute => /^on/i.test(attribute.name)).map(attribute => attribute.name)),
      elements: [...new Set(all.map(element => element.localName))].filter(name => /^(script|style|iframe|svg|object|embed|base|link|meta|form|input)$/.test(name)),
      links: all.filter(element => element.href).map(element => element.getAttribute('href')).filter(href => !/^(#|http:\/\/ok\.example\/)/.test(href)),
      images: all.filter(element => element.localName === 'img').map(element => element.getAttribute('src').slice(0, 20)),
      articles: document.querySelectorAll('article').length,
    };
  });
  assert.deepEqual(found, { pwned: undefined, handlers: [], elements: ['input'], links: [], images: [], articles: found.articles });
  assert.ok(found.articles > 15, `${found.articles}`);
  await page.fill('#search', '<script>');
  await page.waitForFunction(() => /^[1-9]\d* of/.test(document.getElementById('count').textContent));
}

export async function nothing_runs_that_is_not_ours({ open, pages, text }) {
  assert.match(text(pages.rich), /default-src 'none'; script-src 'sha256-/);
  const page = await open(pages.rich);
  await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.pwned = 1';
    document.body.append(script);
    const image = document.createElement('img');
    image.src = 'https://evil.example/x.png';
    document.body.append(image);
  });
  await settled(page);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  const refused = page.faults.splice(0).filter(fault => fault.includes('Content Security Policy'));
  assert.equal(refused.length, 2, 'the script and the picture are refused');
}

export async function ten_thousand_entries({ open, pages }) {
  const started = Date.now();
  const page = await open(pages.large);
  const loaded = Date.now() - started;
  const nodes = () => page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(await nodes() < 8000, `${await nodes()} elements`);
  assert.match(await count(page), /^10000 of 10000/);
  await page.evaluate(() => { location.hash = '#entry-e9000'; });
  await page.waitForSelector('#entry-e9000');
  await settled(page);
  const top = await page.$eval('#entry-e9000', entry => entry.getBoundingClientRect().top);
  assert.ok(top >= -10 && top < 860, `${top}`);
  await page.fill('#search', 'question topic3');
  await page.waitForFunction(() => /^714 of 10000 entries match$/.test(document.getElementById('count').textContent));
  assert.ok(await nodes() < 8000, `${await nodes()} elements`);
  console.log(`      10,000 entries: ready after ${loaded} ms`);
}

export async function keys_go_from_message_to_message({ open, pages }) {
  const page = await open(pages.rich);
  const entries = await said(page);
  const at = () => page.evaluate(() => document.querySelector('.entry.target')?.id.replace('entry-', ''));
  for (const id of entries) {
    await page.keyboard.press('j');
    assert.equal(await at(), id, 'every message, also short ones and those at the end');
  }
  await page.keyboard.press('j');
  assert.equal(await at(), entries.at(-1));
  for (const id of [...entries].reverse().slice(1)) {
    await page.keyboard.press('k');
    assert.equal(await at(), id);
  }
  // From where the reader has scrolled to.
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await settled(page);
  await page.keyboard.press('k');
  assert.ok(entries.indexOf(await at()) > 3, await at());
}

export async function back_undoes_a_change_of_branch({ open, pages }) {
  const page = await open(pages.rich);
  const first = await said(page);
  await page.click('#tree .row:has-text("Try the database join")');
  await settled(page);
  const second = await said(page);
  assert.notDeepEqual(second, first);
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  await page.click('#tree .row.leaf');
  await settled(page);
  await page.click('#path .ways button:last-child');
  await settled(page);
  for (let steps = 0; steps < 2; steps++) {
    await page.goBack();
    await settled(page);
  }
  assert.ok((await said(page)).includes('b1'), 'the second branch again');
  await page.goBack();
  await settled(page);
  assert.deepEqual((await said(page)).slice(-3), first.slice(-3), 'and the first, on the same page');
  await page.goForward();
  await settled(page);
  assert.ok((await said(page)).includes('b1'));
}

export async function hits_are_marked({ open, pages }) {
  const page = await open(pages.rich);
  const marked = () => page.evaluate(() => [...CSS.highlights.get('hit')].map(range => range.toString().toLowerCase()));
  assert.deepEqual(await marked(), []);
  await page.fill('#search', 'tariff index');
  await page.waitForFunction(() => /match$/.test(document.getElementById('count').textContent));
  await page.keyboard.press('Enter');
  await settled(page);
  const words = await marked();
  assert.ok(words.includes('tariff') && words.includes('index') && words.every(word => /^(tariff|index)$/.test(word)), words.join());
  const inside = await page.evaluate(() => [...CSS.highlights.get('hit')].some(range => range.startContainer.parentElement.closest('article')));
  assert.ok(inside, 'in the conversation, too');
  await page.fill('#search', '');
  await settled(page);
  assert.deepEqual(await marked(), []);
}

export async function text_can_be_read({ open, pages }) {
  const contrasts = () => {
    const part = value => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    const numbers = color => color.match(/[\d.]+/g).map(Number);
    const behind = element => {
      for (; element; element = element.parentElement) {
        const color = numbers(getComputedStyle(element).backgroundColor);
        if (color.length < 4 || color[3] === 1) return color;
      }
      return [255, 255, 255];
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = new Map();
    while (texts.nextNode()) {
      const element = texts.currentNode.parentElement;
      if (!texts.currentNode.data.trim() || !element.checkVisibility() || element.closest('script,noscript,dialog')) continue;
      const [a, b] = [numbers(getComputedStyle(element).color), behind(element)].map(light);
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (contrast < 4.5) found.set(`${element.localName}.${element.className}`, contrast.toFixed(2));
    }
    return [...found].map(([name, contrast]) => `${name} ${contrast}`);
  };
  for (const colorScheme of ['light', 'dark']) {
    const page = await open(pages.rich, { colorScheme });
    await page.evaluate(() => { document.querySelectorAll('details').forEach(details => { details.open = true; }); });
    assert.deepEqual(await page.evaluate(contrasts), [], colorScheme);
  }
}

export async function a_search_under_way_says_so_once({ open, pages }) {
  const page = await open(pages.large);
  await page.evaluate(() => {
    window.told = [];
    new MutationObserver(() => window.told.push(document.getElementById('count').textContent)).observe(document.getElementById('count'), { childList: true, characterData: true, subtree: true });
  });
  await page.fill('#search', 'question topic3');
  await page.waitForFunction(() => /entries match$/.test(document.getElementById('count').textContent));
  const told = await page.evaluate(() => window.told);
  assert.deepEqual(told.filter(text => !/^\d+ of 10000 entries match( so far …)?$/.test(text)), []);
}

export async function a_site_is_searched_without_a_server({ open, pages }) {
  const page = await open(pages.site);
  const shown = () => page.$$eval('li', all => all.filter(item => item.checkVisibility()).map(item => item.querySelector('a').textContent));
  assert.equal((await shown()).length, 2);
  // A word of an answer, which no title has; its beginning is enough.
  await page.fill('#q', 'nightly TARIF');
  await page.waitForFunction(() => document.getElementById('n').textContent === '1 of 2');
  assert.deepEqual(await shown(), ['Make the nightly import fast again']);
  assert.equal(new URL(page.url()).hash, '#nightly%20TARIF');
  await page.click('li:not([hidden]) a');
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  assert.equal(await page.title(), 'Make the nightly import fast again');
  await page.goBack();
  await page.waitForFunction(() => document.getElementById('n').textContent === '1 of 2');
}
