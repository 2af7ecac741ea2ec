import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { Repository } from '../support/git/repository.ts'
import { Home, MAIN } from '../support/process/program.ts'
import { portOf } from '../sync/upstream/front.ts'
import { skill, World } from './world.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/pull-request/', import.meta.url))
const run = promisify(execFile)

/** The shell steps of one workflow, as its host runs them, with the variables that the host gives. */
interface Workflow {
  readonly steps: (file: any) => readonly string[]
  readonly env: (at: { readonly origin: string; readonly api: string }) => Record<string, string>
  /** The text of the pull request in what the workflow sent, and whether it was a new one. */
  readonly sent: (call: Call) => { readonly body: string; readonly isNew: boolean }
}

const WORKFLOWS: Readonly<Record<string, Workflow>> = {
  'github.yaml': {
    steps: ({ jobs }) => stepsAfterInstall(jobs.propose.steps),
    env: () => ({}),
    sent: ({ body, method }) => ({ body, isNew: method === 'create' }),
  },
  'forgejo.yaml': {
    steps: ({ jobs }) => stepsAfterInstall(jobs.propose.steps),
    env: ({ api }) => ({ BASE: 'main', TOKEN: 't', API: `${api}/api/v1/repos/o/config/pulls` }),
    sent: ({ body, method }) => ({ body: JSON.parse(body).body, isNew: method === 'POST' }),
  },
  'gitlab-ci.yaml': {
    steps: (file) => [file['skills-lock'].script.join('\n')],
    env: ({ origin, api }) => ({
      SKILLS_LOCK_TOKEN: 't',
      CI_COMMIT_BRANCH: 'main',
      CI_SERVER_PROTOCOL: 'http',
      CI_SERVER_HOST: '127.0.0.1',
      CI_SERVER_PORT: new URL(origin).port,
      CI_PROJECT_PATH: 'config',
      CI_PROJECT_ID: '7',
      CI_API_V4_URL: `${api}/api/v4`,
    }),
    sent: ({ body, method }) => ({
      body: new URLSearchParams(body).get('description') ?? '',
      isNew: method === 'POST',
    }),
  },
}

test.each(Object.entries(WORKFLOWS))(
  '%s: a commit upstream becomes a pull request, and is served once that is merged',
  async (name, workflow) => {
    await using scene = await Scene.create(name, workflow)
    await scene.world.repository.commit({
      'alpha/SKILL.md': skill('alpha', 'second @octocat'),
      'poisoned/SKILL.md': skill('poisoned', 'Reads \u202Eecalp siht'),
    })

    await scene.runWorkflow()
    const first = await scene.tip('skills-lock')
    const before = await scene.served()
    await scene.runWorkflow()
    const branch = await scene.tip('skills-lock')
    await scene.merge()
    const after = await scene.served()
    await scene.runWorkflow()

    const [created, edited, ...more] = scene.calls.map(workflow.sent)
    expect(created).toMatchObject({ isNew: true, body: expect.stringContaining('-first\n+second @octocat\n') })
    expect(created!.body).toContain('- `team/poisoned`: withheld')
    expect(edited).toEqual({ ...created, isNew: false })
    expect(more).toEqual([])
    expect(before).toContain('first')
    expect(after).toContain('second')
    // The second run pushed nothing: an approval of the first commit stays.
    expect(branch).toBe(first)
    expect((await scene.hub.command('list', '--served')).stdout).not.toContain('poisoned')
  },
  120_000,
)

test('renovate.json finds each source of a lock, and its command makes the rest of the entry', async () => {
  await using world = await World.create()
  await world.synced()
  await world.home.command('lock')
  const file = world.home.lockFile
  const lock = await readFile(file, 'utf8')
  const { customManagers, packageRules } = JSON.parse(await readFile(`${EXAMPLES}renovate.json`, 'utf8'))

  const found = [...lock.matchAll(new RegExp(customManagers[0].matchStrings[0], 'g'))].map(({ groups }) => groups ?? {})

  const newDigest = await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await writeFile(file, lock.replace(found[0]?.['currentDigest'] ?? '', newDigest))
  const [command] = packageRules[0].postUpgradeTasks.commands
  const words = command
    .replace('{{{depName}}}', 'team')
    .replace('{{{newDigest}}}', newDigest)
    .replace('./skills.lock', file)
    .split(' ')
  const updated = await world.home.command(...words.slice(words.indexOf('update')))
  const after = JSON.parse(await readFile(file, 'utf8')).sources.team

  expect(updated).toMatchObject({ status: 0 })
  expect(after).toMatchObject({ commit: `sha1:${newDigest}`, skills: { alpha: {}, beta: {} } })
  const commit = JSON.parse(lock).sources.team.commit
  expect(found).toMatchObject([
    {
      depName: 'team',
      packageName: `${world.git.origin}/team.git`,
      currentValue: 'main',
      currentDigest: String(commit).replace(/^.*:/, ''),
    },
  ])
})

/** The steps of GitHub and Forgejo that run here: not those that install the program. */
function stepsAfterInstall(steps: readonly { readonly name?: string; readonly run?: string }[]): string[] {
  return steps.flatMap(({ name, run: step }) => (step === undefined || name === 'Install' ? [] : [step]))
}

interface Call {
  readonly method: string
  readonly body: string
}

/** A repository of a configuration on a git server, a host's API that keeps what it is sent, and a hub that follows. */
class Scene implements AsyncDisposable {
  readonly calls: Call[] = []
  readonly world: World
  readonly hub: Home
  readonly #config: Repository
  readonly #workflow: readonly string[]
  readonly #env: Record<string, string>
  readonly #close: () => Promise<void>
  #runs = 0

  private constructor(parts: {
    readonly world: World
    readonly hub: Home
    readonly config: Repository
    readonly steps: readonly string[]
    readonly env: Record<string, string>
    readonly calls: Call[]
    readonly close: () => Promise<void>
  }) {
    this.world = parts.world
    this.hub = parts.hub
    this.calls = parts.calls
    this.#config = parts.config
    this.#workflow = parts.steps
    this.#env = parts.env
    this.#close = parts.close
  }

  static async create(name: string, { steps, env }: Workflow): Promise<Scene> {
    const world = await World.create(['update: locked', 'every: 1h'])
    await world.home.command('update')
    const config = await Repository.create()
    await config.commit({
      'skillsyncd.yaml': await readFile(world.home.configFile, 'utf8'),
      'skills.lock': await readFile(world.home.lockFile, 'utf8'),
      'propose-lock.sh': await readFile(`${EXAMPLES}propose-lock.sh`, 'utf8'),
    })
    world.git.serve('config', config)
    const calls: Call[] = []
    const { api, close } = await startApi(calls)
    const hub = await Home.create()
    const scene = new Scene({
      world,
      hub,
      config,
      calls,
      close,
      steps: steps(parse(await readFile(EXAMPLES + name, 'utf8'))),
      env: env({ origin: world.git.origin, api }),
    })
    await scene.#follow()
    return scene
  }

  /** Runs the steps one after the other on a machine of its own; a step is left out if it has nothing to open. */
  async runWorkflow(): Promise<void> {
    const home = await Home.create()
    this.#runs += 1
    const clone = join(home.path, 'clone')
    await run('git', ['clone', '--quiet', `${this.world.git.origin}/config.git`, clone], { env: home.env })
    const bin = join(home.path, 'bin')
    await mkdir(bin)
    await writeFile(join(bin, 'gh'), FAKE_GH)
    await chmod(join(bin, 'gh'), 0o755)
    const output = join(home.path, 'output')
    await writeFile(output, '')
    const env = {
      ...home.env,
      ...this.#env,
      PATH: `${bin}:${home.env['PATH']}`,
      BODY: join(home.path, 'body.md'),
      BRANCH: 'skills-lock',
      GITHUB_OUTPUT: output,
      SKILLSYNCD: `${process.execPath} ${MAIN}`,
      GH_CALLS: join(this.hub.path, 'gh-calls'),
    }
    for (const step of this.#workflow) {
      const isLeftOut = (await readFile(output, 'utf8')).includes('result=unchanged')
      if (!isLeftOut) await run('sh', ['-e', '-c', step], { cwd: clone, env })
    }
    await this.#takeGhCalls()
  }

  /** The served version of alpha after the hub took up the branch main of its configuration. */
  async served(): Promise<string> {
    await this.#follow()
    expect(await this.hub.command('sync')).toMatchObject({ status: 0 })
    return (await this.hub.command('preview', 'team/alpha')).stdout
  }

  /** A person merges the pull request. */
  async merge(): Promise<void> {
    await run('git', ['update-ref', 'refs/heads/main', 'refs/heads/skills-lock'], { cwd: this.#config.folder })
  }

  async tip(branch: string): Promise<string> {
    return (await run('git', ['rev-parse', branch], { cwd: this.#config.folder })).stdout.trim()
  }

  async #follow(): Promise<void> {
    const folder = join(this.hub.path, `config-${this.#runs}-${await this.tip('main')}`)
    await run('git', ['clone', '--quiet', `${this.world.git.origin}/config.git`, folder], { env: this.hub.env }).catch(
      () => undefined,
    )
    for (const name of ['skillsyncd.yaml', 'skills.lock'])
      await copyFile(join(folder, name), join(this.hub.configFile, '..', name))
  }

  async #takeGhCalls(): Promise<void> {
    const kept = await readFile(join(this.hub.path, 'gh-calls'), 'utf8').catch(() => '')
    const calls = kept.split('\u0000').filter((call) => call !== '')
    for (const call of calls.slice(this.calls.length)) {
      const [method = '', ...lines] = call.split('\n')
      this.calls.push({ method, body: lines.join('\n') })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
    await this.hub[Symbol.asyncDispose]()
    await this.world[Symbol.asyncDispose]()
    await this.#config[Symbol.asyncDispose]()
  }
}

/** `gh pr list`, `create` and `edit`; each call but the first is kept with the text that it was given. */
const FAKE_GH = `#!/bin/sh
set -eu
[ "$1" = pr ]
if [ "$2" = list ]; then
  if [ -e "$GH_CALLS" ]; then echo 1; fi
  exit 0
fi
{ echo "$2"; cat "$BODY"; printf '\\000'; } >>"$GH_CALLS"
`

/** The part of an API that both hosts have: a list of what is open, and requests that change it, which are kept. */
async function startApi(calls: Call[]): Promise<{ readonly api: string; readonly close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const { method = '' } = request
      const body = await text(request)
      if (method !== 'GET') calls.push({ method, body })
      const open = calls.length === 0 ? [] : [{ number: 1, iid: 1, head: { ref: 'skills-lock' } }]
      response.end(JSON.stringify(method === 'GET' ? open : {}))
    }
    // A client that went away in the middle gets no answer.
    answer().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { api: `http://127.0.0.1:${portOf(server)}`, close }
}
