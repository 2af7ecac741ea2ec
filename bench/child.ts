import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A process that is measured, and does what it is told. */
export interface Child extends AsyncDisposable {
  /** Has it do something it knows by name; resolves with what that returns. */
  tell(what: string, ...values: readonly string[]): Promise<unknown>
  /** Processor time that it has taken so far, in milliseconds. */
  cpuMs(): Promise<number>
  /** What its heap holds after a collection, in KiB. */
  heapKiB(): Promise<number>
}

export async function startChild(file: string, args: readonly string[] = []): Promise<Child> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: ['--expose-gc'] })
  await once(child, 'message')
  return overseen(child)
}

/** A process that does what it is told. It ends with its channel. */
export function overseen(child: ChildProcess): Child {
  const tell = async (what: string, ...values: readonly string[]): Promise<unknown> => {
    const answer = once(child, 'message')
    child.send([what, ...values])
    const [value] = await answer
    return value
  }
  return {
    tell,
    cpuMs: async () => Number(await tell('cpu')),
    heapKiB: async () => Number(await tell('heap')),
    [Symbol.asyncDispose]: async () => {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}

type Deeds = Readonly<Record<string, (values: readonly string[]) => unknown>>

/** In the child: does what the parent tells it, one thing after another, and ends with it. */
export function answerParent(deeds: Deeds): void {
  process.on('message', ([what, ...values]: readonly [string, ...string[]]) => {
    // A deed that fails ends the child, and with it whoever waits for it.
    void Promise.resolve(what in OWN ? OWN[what]?.(values) : deeds[what]?.(values)).then((value) =>
      process.send?.(value ?? null),
    )
  })
  process.once('disconnect', () => process.exit())
  process.send?.('ready')
}

const OWN: Deeds = {
  pid: () => process.pid,
  cpu: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
  heap: () => {
    globalThis.gc?.()
    globalThis.gc?.()
    return process.memoryUsage().heapUsed / 1_024
  },
  /** The heap, and the buffers that it refers to. */
  memory: () => {
    globalThis.gc?.()
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    return (heapUsed + external) / 1_024
  },
}
