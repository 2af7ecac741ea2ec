import { expect, test } from 'vitest'
import { isListing } from '../scenarios/hub.ts'
import type { Fault, GitRequest, RequestKind } from '../support/git/git-server.ts'
import { Scene } from './scene.ts'

/** Some sixty faults, each with a recovery. */
const LONG_MS = 1_800_000

test(
  'whatever a git host does at whichever request, what was served is served, and it recovers by itself',
  { timeout: LONG_MS },
  async () => {
    // Each daemon mostly waits for its next look.
    const borne = await Promise.all((['info-refs', 'ls-refs', 'fetch'] as const).map(async (on) => borneAt(on)))

    expect(borne).toEqual([17, 17, 21])
  },
)

/** How many faults of one kind of request a daemon came through well. */
async function borneAt(on: RequestKind): Promise<number> {
  await using scene = await Scene.set([], [LIMITS])
  await scene.play()
  let borne = 0
  for (const [fault, code] of CERTAIN) {
    await suffers(scene, { ...fault, on }, code)
    await scene.recovers()
    borne += 1
  }
  for (const at of FLIPS[on] ?? []) {
    await meets(scene, { kind: 'flip', at, on })
    await scene.recovers()
    borne += 1
  }
  await scene.expectWell()
  return borne
}

/** Some of them wait until one of these is over. */
const LIMITS = 'limits: { fetch: { connect_timeout: 5s, idle_timeout: 5s } }'

const CERTAIN: readonly (readonly [Fault, string])[] = [
  [{ kind: 'status', status: 401 }, 'credentials-rejected'],
  [{ kind: 'status', status: 403 }, 'credentials-rejected'],
  [{ kind: 'status', status: 404 }, 'repository-not-found'],
  [{ kind: 'status', status: 410 }, 'repository-not-found'],
  [{ kind: 'status', status: 429 }, 'rate-limited'],
  [{ kind: 'status', status: 500 }, 'source-unreachable'],
  [{ kind: 'status', status: 503 }, 'source-unreachable'],
  [{ kind: 'truncate', at: 30 }, 'source-unreachable'],
  [{ kind: 'end', at: 0 }, 'source-unreachable'],
  [{ kind: 'end', at: 30 }, 'source-unreachable'],
  [{ kind: 'end-on-packet', at: 5 }, 'source-unreachable'],
  [{ kind: 'hang', at: 30 }, 'source-unreachable'],
  [{ kind: 'hang-before' }, 'source-unreachable'],
]

/** Where one byte is another: in a length, in an id, in a name, in the pack. */
const FLIPS: Readonly<Partial<Record<RequestKind, readonly number[]>>> = {
  'info-refs': [2, 40, 70, 120],
  'ls-refs': [1, 10, 40, 55],
  fetch: [2, 20, 60, 100, 150, 220, 300, 400],
}

/** A fault that lasts until it is a problem. */
async function suffers(scene: Scene, fault: Fault, code: string): Promise<void> {
  await brought(scene, fault, code)
  await scene.problem(code)
  scene.git.fault = { kind: 'none' }
}

/** A fault that may do no harm: it lasts until it was met, and until what came of that is over. */
async function meets(scene: Scene, fault: Fault): Promise<void> {
  const since = await brought(scene, fault, 'source-unreachable')
  await scene.git.requested((request) => isOf(fault, request), since)
  const met = scene.git.requests.length
  await scene.git.requested(isLook, met)
  scene.git.fault = { kind: 'none' }
}

/** Makes the daemon ask what the fault is about. Returns how many requests there had been before. */
async function brought(scene: Scene, fault: Fault, code: string): Promise<number> {
  if (fault.on === 'info-refs') {
    // What it knows of the server it has to forget before it asks for that again.
    const isMissing = code === 'repository-not-found'
    scene.git.fault = { kind: 'status', status: isMissing ? 401 : 404 }
    await scene.problem(isMissing ? 'credentials-rejected' : 'repository-not-found')
  }
  const since = scene.git.requests.length
  scene.git.fault = fault
  if (fault.on === 'fetch') await scene.commit()
  return since
}

function isOf({ on }: Fault, request: GitRequest): boolean {
  if (on === 'info-refs') return request.method === 'GET'
  return request.method === 'POST' && isListing(request) === (on === 'ls-refs')
}

/** The beginning of a look. */
function isLook(request: GitRequest): boolean {
  return request.method === 'GET' || isListing(request)
}
