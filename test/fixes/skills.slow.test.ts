import { expect, test } from 'vitest'
import { fillFolder } from '../support/content/folder.ts'
import { Home } from '../support/process/program.ts'
import { OF_SKILLS } from './of-skills.ts'
import { offeredFix } from './offered.ts'

test.each(OF_SKILLS)('$code is gone after what its fix says', async ({ code, options, bad, good }) => {
  await using home = await Home.create()
  const { fix } = offeredFix(`finding in a skill: ${code}`)
  const folder = `${home.path}/skills`
  const printed = async (files: typeof bad): Promise<string> => {
    await fillFolder(folder, files)
    return (await home.command('skill', 'validate', ...options, folder)).stdout
  }

  const met = await printed(bad)
  const after = await printed(good)

  expect(met).toMatch(new RegExp(`(?:error|warning) {2}${code} .*\\n {4}${RegExp.escape(fix)}\\n`))
  expect(after).not.toContain(`  ${code}  `)
})
