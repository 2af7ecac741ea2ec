import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { raisesIn } from './raises.ts'
import type { Raise } from './raises.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly raises: readonly Raise[]
  }
}

/** Finds the raises of the built program once for each run, and tells the tests their positions. */
export async function setup({ provide }: TestProject): Promise<void> {
  const raises = await raisesIn(fileURLToPath(new URL('../../dist/', import.meta.url)), '.js')
  // A build leaves what earlier ones made of files that are gone.
  const isOfSource = ({ file }: Raise): boolean => existsSync(new URL(`../../src/${file}.ts`, import.meta.url))
  provide('raises', raises.filter(isOfSource))
}
