import assert from 'node:assert/strict'
import { test } from 'node:test'

import { browserOf, signIn } from '../../service/testing/console-session.ts'
import { issueKey, startTestService } from '../../service/testing/service.ts'
import { findBarriers } from './accessibility.ts'
import { chooseFromMenu } from './menu.ts'
import { shareBrowser } from './shared-browser.ts'
import { storyOf } from './story.ts'
import { visit } from './visitor.ts'

test('The sessions of an account: who is signed in, one of them ended, and all others', async (context) => {
  const service = await startTestService(context)
  const laptopKey = await issueKey(service, { role: 'owner', label: 'laptop' })
  const laptop = await signIn(service, laptopKey)
  service.clock.nowMs += 1_000
  const linked = browserOf(
    service,
    await service.call('POST', '/v1/console/session', {
      key: null,
      body: { set_up_token: service.setUpToken },
    }),
  )
  service.clock.nowMs += 1_000
  const phone = await signIn(service, laptopKey)
  service.clock.nowMs += 1_000
  const statusOf = async ({ call }: typeof laptop) => (await call('GET', '/v1/console/session')).status

  const chapter = storyOf(context)
  const visitor = await visit(await shareBrowser(), service)
  const { page } = visitor
  await page.clock.setFixedTime(service.clock.nowMs)
  await visitor.signIn(service.sandboxKey)
  const table = page.getByRole('table', { name: 'Sessions' })
  const rows = table.getByRole('row').filter({ has: page.getByRole('cell') })
  const endOthers = page.getByRole('button', { name: 'End all others' })

  await chapter(
    'Each row names the user, the environments and the start, and marks your own session',
    async () => {
      await page.getByRole('link', { name: 'Sessions', exact: true }).click()
      await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor()
      await rows.nth(3).waitFor()
      assert.equal(await rows.count(), 4)
      const [mine, ...others] = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))
      const since = 'just now just now in 8 hours ?$'
      assert.match(
        mine ?? '',
        new RegExp(`^Key: first sandbox key This session session_\\w+ operator sandbox ${since}`),
      )
      assert.match(others[0] ?? '', new RegExp(`^Key: laptop session_\\w+ owner sandbox ${since}`))
      assert.match(
        others[1] ?? '',
        new RegExp(`^Set-up link session_\\w+ operator sandbox production ${since}`),
      )
      assert.match(others[2] ?? '', /^Key: laptop /)
      assert.ok(!others.join().includes('This session'))
      // Your own session ends by signing out.
      assert.equal(await rows.first().getByRole('button').count(), 0)
      await page.getByText('Addresses and browsers are not recorded').waitFor()
      assert.deepEqual(await findBarriers(page), [])
    },
  )

  await chapter('A session is ended by keyboard alone, and its cookie is refused at once', async () => {
    const button = rows.nth(1).getByRole('button', { name: /^Actions for the session/ })
    await button.focus()
    await page.keyboard.press('Enter')
    // The menu takes the focus a moment after it opens.
    await page.locator('[role="menuitem"]:focus', { hasText: 'End session' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('Session ended', { exact: true }).waitFor()
    await rows.nth(3).waitFor({ state: 'detached' })
    assert.deepEqual([await statusOf(laptop), await statusOf(linked), await statusOf(phone)], [200, 200, 401])
  })

  await chapter('A session that has ended in the meantime disappears without an error', async () => {
    const { body } = await service.call('GET', '/accounts/sessions')
    const { id } = body.find(({ kind }: { kind: string }) => kind === 'set_up')
    assert.equal((await service.call('DELETE', `/accounts/sessions/${id}`)).status, 200)
    await chooseFromMenu(page, 'the session by set-up link', 'End session')
    await rows.nth(2).waitFor({ state: 'detached' })
    assert.equal(await page.getByRole('alert').count(), 0)
  })

  await chapter(
    'On a phone, all other sessions are ended after a confirmation that can be cancelled',
    async () => {
      const more = [await signIn(service, laptopKey), await signIn(service, service.sandboxKey)]
      await page.setViewportSize({ width: 375, height: 740 })
      await visitor.show('sandbox/sessions')
      await endOthers.click()
      const dialog = page.getByRole('dialog', { name: 'End all other sessions?' })
      await dialog.getByText('3 other sessions').waitFor()
      await dialog.getByText('with a key can sign in again').waitFor()
      assert.deepEqual(await findBarriers(page), [])
      await page.setViewportSize({ width: 375, height: 740 })
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'detached' })
      for (const session of more) assert.equal(await statusOf(session), 200)

      await endOthers.click()
      await dialog.getByRole('button', { name: 'End all others' }).click()
      await page.getByText('3 other sessions ended').waitFor()
      await rows.nth(1).waitFor({ state: 'detached' })
      for (const session of [laptop, phone, linked, ...more]) assert.equal(await statusOf(session), 401)
      await page.reload()
      await rows.first().getByText('This session').waitFor()
      assert.equal(await endOthers.isDisabled(), true)
    },
  )

  await chapter('A sign-out that does not reach the service says so, and can be repeated', async () => {
    await page.setViewportSize({ width: 1280, height: 860 })
    const signOut = page.getByRole('button', { name: 'Sign out' })
    await page.route('**/v1/console/session', (route) =>
      route.request().method() === 'DELETE' ? route.abort() : route.continue(),
    )
    await signOut.click()
    await page.getByRole('alert').filter({ hasText: 'You may still be signed in.' }).waitFor()
    assert.equal(await page.getByLabel('Owner or operator key').count(), 0)
    await page.unroute('**/v1/console/session')
    await signOut.click()
    await page.getByLabel('Owner or operator key').waitFor()
    await page.getByText('You may still be signed in.').waitFor({ state: 'detached' })
    const { body } = await service.call('GET', '/accounts/sessions')
    assert.deepEqual(body, [])
  })

  await visitor.leave()
})
