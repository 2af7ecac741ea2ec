/**
 * The rooms of `src`, each with its sentence, in the order in which they build on each other: a room imports earlier ones
 * alone, types counted. A room may have folders inside.
 */
export const ROOMS: Readonly<Record<string, string>> = {
  base: 'code without knowledge of skills: work over time, JSON, globs, text, edits of foreign files',
  'sync/skill': 'one SKILL.md: frontmatter, contract block, Markdown, diagnostics, hidden text',
  'sync/model': 'the values of the pipe: source, revision, tree, skill, snapshot, generation, decisions',
  'sync/signatures': 'proof of signers: SSH and OpenPGP',
  'sync/transparency-log': 'a transparency log: Merkle tree, signed heads, tiles, proofs',
  'sync/store': 'what survives a restart: objects in SQLite, snapshots, generations, decisions, checkouts, backup',
  'sync/postgres': 'the database that the processes of one hub share: objects, logs, documents, the lead',
  'sync/upstream': 'the port of a source, the HTTP client, archives, folders, the form of git objects',
  'sync/git': 'git sources: objects, transports, threads that fetch, the git program, the second reader',
  'sync/survey': 'from the tree of a commit, or a listing, to its skills and plugin groups',
  'sync/catalog': 'what is served of a generation: lookups, packs, changes, the context budget',
  'sync/pull': 'one pull of one source, and the publisher, which makes generations of snapshots',
  serve: 'what every surface needs: registry, principals, views, fair shares, the reader of contents',
  'serve/http': 'the HTTP server: listener, limits, access, routes',
  'serve/mcp': 'MCP: the methods of both protocol revisions, resources, events',
  'serve/mcp/tools': 'tools, prompts, completion and search, for clients without skills',
  'serve/mcp/transports': 'MCP over HTTP, with sessions and streams, and over standard input and output',
  'serve/page': 'the page for people, its routes and its login',
  'serve/site': 'everything on one address: MCP, the page, and the routes of features',
  'daemon/runtime': 'what every part of the daemon uses: log, redaction, errors, programs, progress',
  'daemon/config': 'the configuration file: its keys, the rules between them, its form in the code',
  'daemon/access': 'tokens, OAuth, and the credentials for each host',
  'daemon/pull': 'when and how a source is pulled, rollback and decisions, and what is trusted',
  'daemon/status': 'what a person asks: status, history, why, figures, the audit log, the data of the page',
  'daemon/control': 'the control socket, its requests, and the lock on the state folder',
  'daemon/cli': 'what commands share: the client of the daemon, options, help, output',
  'features/mcp-sources': 'other MCP servers as sources: listings, files on request, mismatches',
  'features/scan': 'the gate of the operator, scanners by name, and scans of what is served',
  'features/agent-folders': 'skills in the folders of agents: `link`, and the follower of `links`',
  'features/marketplace': 'the plugin marketplace: its git remote, its publication, the enrollment of agents',
  'features/channel': 'the channel: log, publication, the follower, recalls, witnesses, proofs',
  'features/rings': 'rings: when content passes from one to the next, what stops it, and their members',
  'features/lock-repository': 'the lock of a git repository, followed',
  'features/usage': 'counts of use, and the telemetry of agents',
  'features/hub-of-several': 'a hub of several processes: what each takes over from the others',
  'features/author': '`validate`, `project` and `new` for authors, `explain`, and the texts of all rules',
  'daemon/commands': 'the commands of the core: show, change, run, verify, doctor, SBOM, service',
  daemon: 'the process put together: what runs, what a reload keeps, the list of commands',
}

/** Imports against the order that are left. None is added; one that goes is taken out here. */
export const AGAINST_THE_ORDER: Readonly<Record<string, readonly string[]>> = {
  'daemon/runtime': ['daemon/config'],
  'daemon/pull': ['daemon/status'],
  'daemon/cli': ['daemon'],
  'daemon/commands': ['daemon'],
}

/** The files of the core that import features beside `daemon/features.ts`, and why. None is added; one that goes is taken out here. */
export const CORE_WITH_FEATURES: Readonly<Record<string, string>> = {
  'daemon/commands/change/approve-skills.ts':
    'a skill of an MCP server is approved, and its files are fetched to be shown',
  'daemon/commands/change/disable.ts': 'what is disabled at all followers is enabled with the skill',
  'daemon/commands/change/preview.ts': 'a file of an MCP server is fetched to be shown',
  'daemon/commands/run/mcp.ts': 'its answers are counted',
  'daemon/compose.ts': 'the parts of features and of the core call each other',
  'daemon/configuration.ts': 'one schema has all keys in one order',
  'daemon/daemon.ts': 'it takes over what other processes of a hub decided, and the rings, before the first catalog',
  'daemon/follower.ts': 'it serves the rings and the files of MCP servers without a daemon',
  'daemon/http-server.ts': 'its answers are counted',
  'daemon/reload-state.ts': 'links, sessions and counts outlive a reload',
  'daemon/source-kinds.ts': 'it opens every kind of source',
  'daemon/writer.ts': 'a process of a hub of several gets its part before the daemon',
}
