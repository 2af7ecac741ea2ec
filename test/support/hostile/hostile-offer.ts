import type { IncomingMessage } from 'node:http'
import type { RawBody } from './hostile-answer.ts'
import type { Era } from './hostile-request.ts'
import { SkillsOnOffer } from './hostile-skills.ts'
import type { Filter } from './hostile-streams.ts'

/** How skills can be enumerated: by the extension's methods, an index in one of its forms, as FastMCP has them, or not at all. */
export type Enumeration = 'skills-list' | 'index-r0' | 'index-r1' | 'index-r2' | 'index-r4' | 'fastmcp' | 'nothing'

/** What is said where no answer is overridden. All of it may be changed at any time. */
export class Offer {
  /** The eras that are served. */
  readonly era: Era | 'both'
  readonly skills = new SkillsOnOffer()
  /** Which enumeration there is; what is declared does not follow it. */
  offers: Enumeration = 'skills-list'
  capabilities: object = {
    resources: { subscribe: true, listChanged: true },
    extensions: { 'io.modelcontextprotocol/skills': { directoryRead: false } },
  }
  serverInfo: object = { name: 'hostile', version: '1' }
  instructions: string | undefined
  /** The modern revisions that are taken; all others are refused with these. */
  versions: readonly string[] = ['2026-07-28']
  /** How long a modern answer may be kept, and by whom. */
  ttlMs: unknown = 0
  cacheScope: unknown = 'public'
  /** Items of one page of a list. All of them are one page unless it is set. */
  pageSize: number | undefined
  templates: readonly object[] = []
  /** What can be completed, by the name of the variable. */
  completions: Readonly<Record<string, readonly string[]>> = {}
  /** How a POST is answered: as one JSON body, or as a stream of events with that one message. */
  answersAs: 'json' | 'events' = 'json'
  /** Whether a session is opened by `initialize` over HTTP. Without, nothing can be pushed to the 2025 era. */
  hasSessions = true
  /** Is shown each HTTP request before anything else is; what it gives is the answer. */
  door: ((request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>) => RawBody | undefined) | undefined
  /** What is acknowledged of the filter of a listen request. */
  honours: (filter: Filter) => Filter = ({ resourceSubscriptions, resourcesListChanged }) => ({
    ...(resourceSubscriptions && { resourceSubscriptions }),
    ...(resourcesListChanged && { resourcesListChanged }),
  })

  constructor(era: Era | 'both') {
    this.era = era
  }
}
