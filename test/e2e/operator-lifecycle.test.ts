import { expect, test } from 'vitest'
import { modernHttp } from '../support/clients/peer.ts'
import { skill, World } from './world.ts'

const SAYS = [
  'every: 1h',
  'lifecycle:',
  '  - include: ["al*"]',
  '    deprecated: too old',
  '    replaced_by: beta',
  '    owner: Our team',
  '    depends_on: [gamma]',
]

test('what the configuration says of a skill is shown wherever the words of its author are, after a reload', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await world.synced()
  const daemon = home.start('start')
  const url = await daemon.line()
  await using peer = await modernHttp(url)
  const heard = await peer.subscribe([], { list: true })
  const listed = async (): Promise<any> => (await peer.call('skills/list', {})).result.skills
  expect(JSON.stringify(await listed())).not.toContain('too old')

  await home.configure({ team: [`url: ${git.origin}/team.git`, ...SAYS] })
  expect(await home.command('reload')).toMatchObject({ status: 0 })
  await heard.next(({ method }) => method === 'notifications/resources/list_changed')

  const lifecycle = { deprecated: 'too old', replacedBy: 'beta', owner: 'Our team', dependsOn: ['gamma'] }
  const [alpha, beta] = await listed()
  expect(alpha._meta).toMatchObject({ 'dev.skillsyncd/lifecycle': lifecycle })
  expect(beta._meta?.['dev.skillsyncd/lifecycle']).toBeUndefined()
  const tool = await peer.call('tools/call', { name: 'get_skill', arguments: { id: 'alpha' } })
  expect(tool.result.structuredContent).toMatchObject({
    lifecycle,
    description: expect.stringMatching(/^\[Deprecated; use beta instead: too old\]/),
  })
  expect(JSON.parse((await home.command('list', '--json')).stdout).skills[0]).toMatchObject({ lifecycle })
  expect((await home.command('list')).stdout).toContain('served, deprecated')
  expect((await home.command('show', 'alpha')).stdout).toContain('  - owner: Our team')
  expect((await home.command('doctor', '--offline')).stdout).toContain('gamma')
  await daemon.stop()
}, 60_000)
