import { OF_SKILLS } from './of-skills.ts'
import { OF_SOURCES } from './of-sources.ts'

/** The fixes that a test carries out, by `nameOf`. */
export const REPRODUCED: ReadonlySet<string> = new Set([
  ...Object.keys(OF_SOURCES).map((code) => `problem of a source: ${code}`),
  ...OF_SKILLS.map(({ code }) => `finding in a skill: ${code}`),
])

/** The fixes that nobody can type here, each with the reason. */
export const UNTYPED: Readonly<Record<string, string>> = {}
