// What a person does with the page: logs in, finds a session, reads its tree and its branches.

import { strict as assert } from 'node:assert';

const rows = page => page.locator('#rows .row');
const articles = page => page.locator('#path article');
// Until nothing is under way and what came is drawn.
const settled = page => page.quiet();
const query = page => new URL(page.url()).searchParams;

export async function login_with_a_token({ open, server, TOKEN }) {
  const page = await open('/s/branches?entry=b6', { login: false });
  page.expected.push('403');
  assert.match(page.url(), /\/login\?next=/);
  await page.fill('#token', 'tr_wrong');
  await page.click('button.primary');
  assert.match(await page.textContent('#refused'), /unknown/);
  await page.fill('#token', TOKEN);
  await page.keyboard.press('Enter');
  await page.waitForURL(`${server.url}/s/branches?entry=b6`);
  assert.ok((await page.context().cookies()).find(cookie => cookie.name === 'treering_session').httpOnly);
  await page.click('text=Log out');
  await page.waitForURL(/\/login/);
  await page.goto(`${server.url}/`);
  assert.match(page.url(), /\/login/);
}

export async function login_with_the_link({ open, server }) {
  const page = await open('/login', { login: false });
  await page.goto(await server.link);
  await page.waitForSelector('.sessions');
}

export async function sessions_of_every_agent_are_listed({ open, agents }) {
  const page = await open('/');
  const shown = await page.locator('.s .agent').allTextContents();
  for (const agent of agents) assert.ok(shown.includes(agent), `${agent} in ${shown}`);
  // The fork is under its origin.
  const ids = await page.locator('.s').evaluateAll(list => list.map(row => [row.dataset.id, row.className]));
  const at = ids.findIndex(([id]) => id === 'compacted');
  assert.match(ids[at][1], /d1/);
  await page.selectOption('[name=agent]', 'tau');
  await page.waitForFunction(() => [...document.querySelectorAll('.s .agent')].every(element => element.textContent === 'tau'));
  assert.equal(query(page).get('agent'), 'tau');
  await page.goBack();
  await page.waitForFunction(() => new Set([...document.querySelectorAll('.s .agent')].map(element => element.textContent)).size > 1);
}

export async function search_marks_hits_and_leads_to_entries({ open }) {
  const page = await open('/');
  await page.keyboard.press('/');
  await page.keyboard.type('armed twice');
  // On a slow machine the page may search for the first letters before the last one is typed.
  await page.waitForURL(url => url.searchParams.get('q') === 'armed twice');
  await page.waitForSelector('#sessions:not([aria-busy]) .hits mark');
  assert.match(await page.textContent('.s[data-id=branches] .hits'), /armed twice/);
  await page.fill('#search', 're:(');
  await page.waitForSelector('#refused');
  await page.fill('#search', 'role:user whistle');
  await page.waitForFunction(() => document.querySelectorAll('.hits .role').length && [...document.querySelectorAll('.hits .role')].every(element => element.textContent === 'user'));
  page.expected.push('400');
  await page.click('.s[data-id=branches] .hits a');
  await page.waitForSelector('html[data-ready] #path article.target', { state: 'attached' });
  assert.match(await page.textContent('#path article.target'), /whistle/);
}

export async function keys_lead_through_the_list({ open, ready }) {
  const page = await open('/?agent=pi');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const id = await page.evaluate(() => document.activeElement.closest('.s').dataset.id);
  await page.keyboard.press('Enter');
  await page.waitForURL(new RegExp(`/s/${id}$`));
  await ready(page);
  await page.keyboard.press('?');
  await page.waitForSelector('#keys[open]');
  await page.keyboard.press('Escape');
}

export async function a_session_shows_tree_and_conversation({ open }) {
  const page = await open('/s/branches');
  assert.equal(await rows(page).count(), 9, await rows(page).allTextContents());
  assert.match(await page.textContent('#rows .row.leaf .label'), /tested/);
  assert.match(await page.textContent('#path'), /whistles_once/);
  assert.equal(await page.locator('#path .hl-w').count() > 0, true, 'code has colors');
  await page.click('#rows .row >> text=Does it whistle at all');
  await page.waitForSelector('#path >> text=It does, once.');
  assert.equal(query(page).get('entry'), 'b7');
  assert.match(await page.textContent('#path .ways'), /1\/2/);
  await page.click('#path .ways [aria-label="Next branch"]');
  await page.waitForSelector('#path >> text=whistles_once');
  assert.equal(await page.locator('#path >> text=It does, once.').count(), 0);
  await page.keyboard.press('[');
  await page.waitForSelector('#path >> text=It does, once.');
  await page.goBack();
  await page.waitForSelector('#path >> text=whistles_once');
  assert.equal(await page.locator('#path .diff del').count() > 0, true, 'edits are diffs');
  assert.equal(await page.locator('#path details.think:not([open])').count(), 1);
}

export async function the_tree_filters_folds_and_searches({ open }) {
  const page = await open('/s/branches');
  await page.click('#filters [data-filter=user-only]');
  await page.waitForFunction(() => document.querySelectorAll('#rows .row').length === 3);
  assert.equal(query(page).get('filter'), 'user-only');
  await page.keyboard.press('f');
  await page.waitForFunction(() => document.querySelectorAll('#rows .row').length === 1);
  await page.click('#filters [data-filter=all]');
  await page.waitForFunction(() => document.querySelectorAll('#rows .row').length === 10);
  await page.click('#filters [data-filter=default]');
  await page.waitForFunction(() => document.querySelectorAll('#rows .row').length === 9);
  await page.click('#rows .fold');
  await page.waitForFunction(() => document.querySelectorAll('#rows .row').length === 8);
  assert.ok(query(page).get('folds'));
  await page.click('#rows .fold');
  await page.waitForFunction(() => document.querySelectorAll('#rows .row').length === 9);
  await page.fill('#search', 'timer');
  await page.waitForFunction(() => document.querySelectorAll('#rows .row').length < 6);
  await page.fill('#search', 're:(');
  await settled(page);
  page.expected.push('400');
  await page.fill('#search', '');
  await page.waitForFunction(() => document.querySelectorAll('#rows .row').length === 9);
}

export async function keys_lead_through_the_tree({ open }) {
  const page = await open('/s/branches');
  await page.focus('#rows .row[tabindex="0"]');
  await page.keyboard.press('Home');
  await page.waitForFunction(() => document.activeElement.dataset.at === '0');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction(() => document.activeElement.dataset.at === '2');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#path article.target');
  await page.keyboard.press('End');
  await page.waitForFunction(() => document.activeElement.classList.contains('leaf'));
  assert.equal(await page.locator('[role=tree] [role=treeitem][aria-level]').count(), 9);
}

export async function keys_in_the_toolbar_do_not_move_the_page({ open }) {
  const page = await open('/s/long');
  await settled(page);
  const top = () => page.evaluate(() => Math.round(scrollY));
  const before = await top();
  assert.ok(before > 500);
  await page.focus('[data-verb=go]');
  for (let turn = 0; turn < 4; turn++) await page.keyboard.press('Tab');
  await settled(page);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.verb), 'merge');
  assert.equal(await top(), before);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#ask[open], .toast');
  await page.keyboard.press('Escape');
  assert.equal(await top(), before);
}

export async function a_long_session_comes_in_windows({ open }) {
  const page = await open('/s/long');
  assert.match(await page.textContent('#count'), /10,000/);
  assert.ok(await rows(page).count() <= 600);
  assert.match(await page.textContent('#path article:last-child'), /Answer 9999|Question 999/);
  await page.evaluate(() => { document.getElementById('tree').scrollTop = 0; });
  await page.waitForSelector('#rows .row[data-at="0"]');
  await page.evaluate(() => { const tree = document.getElementById('tree'); tree.scrollTop = tree.scrollHeight / 2; });
  await page.waitForFunction(() => [...document.querySelectorAll('#rows .row')].some(row => Math.abs(row.dataset.at - 5000) < 30));
  assert.ok(await rows(page).count() <= 600);
  await page.click('#rows .row[data-at="5000"]');
  await page.waitForSelector('#path article.target');
  const count = await articles(page).count();
  assert.ok(count < 260, `${count} entries`);
  for (let turn = 0; turn < 5; turn++) {
    await page.mouse.move(900, 500);
    await page.mouse.wheel(0, -3000);
    await settled(page);
  }
  assert.ok(await articles(page).count() <= 260);
  await page.keyboard.press('g');
  await page.waitForSelector('#entry-e0');
  await page.keyboard.press('G');
  await page.waitForFunction(() => !document.getElementById('entry-e0'));
}

export async function a_compaction_marks_where_the_context_begins({ open }) {
  const page = await open('/s/compacted');
  const before = await page.locator('.begin').evaluate(element => element.nextElementSibling.dataset.id);
  assert.equal(before, 'k8');
  assert.match(await page.textContent('#path article.k-C'), /Steps 0 to 7/);
}

export async function what_the_model_sees({ open }) {
  const page = await open('/s/compacted');
  await page.keyboard.press('c');
  await page.waitForSelector('.messages li');
  const text = await page.textContent('.messages');
  assert.match(text, /Steps 0 to 7/);
  assert.doesNotMatch(text, /Do step 2/);
  await page.selectOption('#view', 'anthropic');
  assert.match(await page.getAttribute('#raw', 'href'), /view=anthropic/);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.click('#copy');
  await page.waitForFunction(() => /Copied/.test(document.getElementById('copied').textContent));
  assert.ok(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())).request.messages.length > 2);
}

export async function two_branches_side_by_side({ open }) {
  const page = await open('/s/branches?entry=b8');
  await page.click('#to-compare');
  await page.waitForSelector('.columns section');
  const [left, right] = await page.locator('.columns section').allTextContents();
  assert.match(left, /It does, once/);
  assert.match(right, /whistles_once/);
}

export async function any_branch_can_be_the_other_one({ open }) {
  const page = await open('/s/branches/compare?a=b10');
  assert.match(await page.textContent('main'), /They diverged after|Nothing beyond/);
  await page.selectOption('#other', 'b8');
  await page.waitForURL(/b=b8/);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  assert.match(await page.textContent('main > .note'), /The timer was armed twice/);
  const [left, right] = await page.locator('.columns section').allTextContents();
  assert.match(left, /whistles_once/);
  assert.match(right, /It does, once/);
}

export async function long_folded_parts_come_when_they_are_unfolded({ open }) {
  const page = await open('/s/results');
  const last = page.locator('#path details.res').last();
  assert.equal(await last.locator('pre').count(), 0);
  assert.match(await last.locator('summary').textContent(), /read: src\/part\d+\.rs/);
  await last.locator('summary').click();
  await page.waitForFunction(() => /line 99 of result 59/.test([...document.querySelectorAll('#path details.res')].at(-1).querySelector('pre')?.textContent));
  assert.match(await last.locator('summary').textContent(), /src\/part\d+\.rs/);
  await last.locator('summary').click();
  await last.locator('summary').click();
  assert.equal(await last.locator('pre').count(), 1);
  await page.keyboard.press('e');
  await page.waitForFunction(() => document.querySelectorAll('#path details[open] pre').length > 4);
  await page.waitForFunction(() => ![...document.querySelectorAll('#path .note')].some(note => /Loading/.test(note.textContent)));
}

export async function a_quick_scroll_through_the_tree_leaves_no_rows_behind({ open }) {
  const page = await open('/s/long');
  await page.evaluate(() => new Promise(done => {
    const tree = document.getElementById('tree');
    tree.scrollTop = 0;
    let frames = 0;
    const frame = () => { tree.scrollTop += tree.scrollHeight / 60; if (++frames < 80) requestAnimationFrame(frame); else done(undefined); };
    requestAnimationFrame(frame);
  }));
  await settled(page);
  await page.waitForFunction(() => [...document.querySelectorAll('#rows .row')].some(row => Number(row.dataset.at) > 9900));
  await settled(page);
  assert.ok(await rows(page).count() <= 400, `${await rows(page).count()} rows`);
}

export async function an_entry_is_copied_as_text({ open }) {
  const page = await open('/s/branches?entry=b6');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.keyboard.press('y');
  await page.waitForSelector('.toast >> text=Copied');
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'The timer was armed twice. Now it is armed once.');
}

export async function a_hostile_session_is_inert({ open }) {
  for (const path of ['/s/hostile', '/s/hostile?filter=all', '/s/hostile/context', '/s/hostile/compare', '/', '/?q=script']) {
    const page = await open(path);
    await settled(page);
    assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
    assert.equal(await page.evaluate(() => document.querySelectorAll('script:not([src]), iframe, object, embed, [onerror], [onload], [style*="expression"]').length), 0);
  }
}

export async function a_phone_has_no_sideways_scrolling({ open }) {
  const phone = { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true };
  for (const path of ['/', '/?q=timer', '/usage', '/s/branches', '/s/rich', '/s/branches/context', '/s/branches/compare?a=b8']) {
    const page = await open(path, phone);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${path} is ${wide} wide`);
  }
  const page = await open('/s/long', phone);
  // The way to the tree is on the screen, also at the end of a long session.
  const box = await page.locator('#menu').boundingBox();
  assert.ok(box.y > 0 && box.y < 200, JSON.stringify(box));
  await page.tap('#menu');
  await page.waitForSelector('.open #side');
  // Nothing lies over the drawer.
  await page.waitForFunction(() => { const { x, y, width, height } = document.getElementById('search').getBoundingClientRect(); return document.elementFromPoint(x + width / 2, y + height / 2)?.id === 'search'; });
  await page.tap('#rows .row >> nth=0');
  await page.waitForFunction(() => !document.body.classList.contains('open'));
}

export async function nothing_serious_for_screen_readers({ open, violations }) {
  const found = [];
  for (const colorScheme of ['light', 'dark']) {
    for (const path of ['/', '/?q=timer', '/usage', '/s/branches', '/s/rich', '/s/branches/context', '/s/branches/compare?a=b8']) {
      const page = await open(path, { colorScheme, reducedMotion: 'reduce' });
      await settled(page);
      // Only colors differ in the dark.
      for (const violation of await violations(page, colorScheme === 'dark' ? ['color-contrast'] : undefined)) found.push(`${path} ${colorScheme} ${violation}`);
      await page.context().close();
    }
  }
  assert.deepEqual(found, []);
}

export async function usage_is_charts_with_tables_behind_them({ open, server }) {
  const page = await open('/usage?days=');
  assert.ok(await page.locator('#chart svg .bar').count() > 0);
  assert.ok(await page.locator('#chart svg title').count() > 0, 'bars say what they are');
  for (const by of ['project', 'agent', 'model', 'session']) {
    await page.goto(`${server.url}/usage?by=${by}&days=&measure=tokens`);
    await page.waitForSelector('html[data-ready] table tbody tr', { state: 'attached' });
    const csv = await (await page.request.get(`${server.url}/usage.csv?by=${by}&days=`)).text();
    assert.match(csv, new RegExp(`^${by},sessions,requests,`));
  }
}

export async function paper_has_the_conversation_and_no_controls({ open }) {
  for (const path of ['/s/branches', '/']) {
    const page = await open(path);
    await page.emulateMedia({ media: 'print' });
    const shown = await page.evaluate(() => ['#bar', '#actions', '#side', '#talk', '#moved', '#choices'].filter(name => { const element = document.querySelector(name); return element && getComputedStyle(element).display !== 'none'; }));
    assert.deepEqual(shown, [], path);
    assert.ok((await page.pdf({ format: 'A4' })).length > 1000);
  }
  const page = await open('/s/branches');
  await page.emulateMedia({ media: 'print' });
  assert.ok(await page.locator('#path article').first().isVisible());
}

export async function a_page_that_is_missing_says_so({ open, server }) {
  const page = await open('/');
  page.expected.push('404');
  await page.goto(`${server.url}/s/none`);
  assert.match(await page.textContent('h1'), /no such session/);
  await page.goto(`${server.url}/nowhere`);
  assert.match(await page.textContent('h1'), /no such page/);
}
