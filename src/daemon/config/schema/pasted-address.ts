/** A git repository by the keys that name it in the configuration. */
export interface RepositoryPlace {
  readonly url: string
  readonly ref?: string
  readonly root?: string
}

/**
 * The repository that a pasted text names: the page of a folder or a file at a git host, an address with a branch
 * behind `#` or `@`, or `owner/repo` on GitHub. `undefined` for every other text, such as a plain address.
 */
export function pastedPlace(text: string): RepositoryPlace | undefined {
  const place = placeIn(text)
  // An escape of the address may spell a control character, which no ref and no folder has.
  return Object.values(place ?? {}).some((value) => /\p{Cc}/u.test(value)) ? undefined : place
}

/**
 * True if the address of a page is also one that a repository can have, in a group called `tree` or `blob`: at a host
 * that is not known for such pages, and with nothing that only a page has.
 */
export function isPerhapsRepository(address: string): boolean {
  const { hostname = '', pathname = '', search = '?' } = URL.parse(address) ?? {}
  return search === '' && !HOSTS_OF_TREES.test(hostname) && TREE_IN_PATH.test(pathname)
}

/** The repository of a page that shows several commits, or one that git has no ref for, such as two branches compared. */
export function repositoryOfSeveral(text: string): string | undefined {
  const url = URL.parse(inFull(text))
  const page = url === null || !/^https?:$/.test(url.protocol) || url.username !== '' ? undefined : pageAt(url)
  return url === null || page?.groups['several'] === undefined ? undefined : repositoryOf(url.protocol, page.groups)
}

const HOSTS_OF_TREES =
  /^(?:www\.)?(?:github\.com|gitlab\.com|gitee\.com|huggingface\.co|git\.sr\.ht)$|^(?:github|ghe)\.|\.ghe\.com$/
const TREE_IN_PATH = /^\/[^/]+\/[^/]+\/(?:tree|blob)(?!.*(?:\/-(?:\/|$)|\/_git\/|\.(?:md|git)\/*$))\/[^/]/i

function placeIn(text: string): RepositoryPlace | undefined {
  const full = inFull(text)
  const [address = '', fragment] = full.split(/#(.*)/s, 2)
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol))
    return fragment === undefined || !OTHER_ADDRESS.test(address) ? undefined : { url: address, ...pinned(fragment) }
  // One host offers its addresses with the organization as the user name. Any other user name may be a token.
  const isOwner = url.username === url.pathname.split('/')[1]
  if (url.password !== '' || (url.username !== '' && !isOwner)) return undefined
  if ([...url.searchParams.keys()].some((key) => !VIEW_KEYS.has(key))) return undefined
  if (pageAt(url)?.groups['several'] !== undefined) return undefined
  const found = pageOf(url, fragment ?? '')
  // The address by which Azure DevOps is cloned has the form of its pages.
  const isPlain = found?.url === `${url.origin}${url.pathname}` && found.ref === undefined && found.root === undefined
  const page = isPlain ? undefined : found
  if (page !== undefined) return page
  if (`${url.username}${url.search}` === '' && fragment === undefined && full === text) return undefined
  // Behind parameters, the fragment is a part of a page.
  const chosen = url.search === '' ? pinned(fragment ?? '') : chosenBy(url.searchParams)
  return { url: `${url.origin}${url.pathname}`, ...chosen }
}

const OTHER_ADDRESS = /^(?:(?:git\+)?ssh:\/\/|file:\/\/|[\w.-]+@[\w.-]+:)/i

/** The text with the scheme and the host that people leave out, and with the ref behind `#`. */
function inFull(text: string): string {
  const bare = text.replace(/^git\+(?=https?:)/i, '')
  const full = SHORT.test(bare) ? `https://github.com/${bare}` : bare.replace(HOST_FIRST, 'https://$&')
  const form = full === bare ? REF_BEHIND_REPOSITORY : REF_BEHIND_FOLDER
  return full.replace(form, '$1#$2&')
}

const REF_BEHIND_REPOSITORY = /^(https:\/\/github\.com\/[^/@]+\/[^/@#?]+|[^#?]+\.git)@([^@#]+)#?/i
/** In the short forms. A folder may begin with `@`, and behind a branch it may have one anywhere. */
const REF_BEHIND_FOLDER =
  /^(https:\/\/github\.com\/[^/@]+\/[^/@#?]+(?!\/(?:tree|blob)\/)(?:\/@?[^/@#?]+)*|[^#?]+\.git)@([^@#]+)#?/i
const SHORT = /^[a-z\d][a-z\d-]{0,38}\/\w[\w.-]{0,99}(?:[/@#].+|\/?)$/i
const HOST_FIRST = /^(?:[a-z\d-]+\.)+[a-z]{2,}(?::\d+)?\/[\w.~-]+\/\w/i

/** The parameters of a page's address that choose what it shows. An unknown one may be a secret. */
const VIEW_KEYS: ReadonlySet<string> = new Set([
  'at',
  'display',
  'line',
  'lineEnd',
  'lineEndColumn',
  'lineStartColumn',
  'lineStyle',
  'path',
  'plain',
  'ref',
  'ref_type',
  'tab',
  'version',
  '_a',
])

/** `branch`, `branch:folder`, or `branch&subdirectory=folder`. The readme and the lines of a page are no branch. */
function pinned(fragment: string): Omit<RepositoryPlace, 'url'> {
  const [, ref = '', below] = /^([^:&=]*)(?::([^&]+))?(?:&|$)/.exec(fragment) ?? []
  const root = /(?:^|&)subdirectory=([^&]+)/.exec(fragment)?.[1] ?? below
  const isPart = ref === '' || /^(?:readme(?:-ov-file)?|l\d+(?:c\d+)?(?:-l?\d+(?:c\d+)?)?)$/i.test(fragment)
  return { ...(!isPart && { ref: decoded(ref) }), ...(root !== undefined && { root: partsOf(root).join('/') }) }
}

/** The ref and the folder that the parameters of an address choose. */
function chosenBy(query: URLSearchParams): Omit<RepositoryPlace, 'url'> {
  const chosen = query.get('at') ?? query.get('version')?.replace(/^G[BCT]/, '') ?? query.get('ref')
  const root = partsOf(query.get('path') ?? '').join('/')
  return {
    ...(chosen !== null && chosen !== undefined && { ref: chosen.replace(/^refs\/heads\//, '') }),
    ...(root !== '' && { root }),
  }
}

/** A form of addresses of pages. `changes`: the ref of a change request at such a host, with `*` for its number. */
interface PageForm {
  readonly form: RegExp
  readonly changes?: string
}

/**
 * The addresses of pages, without scheme. `rest`: the ref, then the path; `whole`: the ref alone; `change`: the number of
 * a change request; `folder`: the path alone; `several`: what the page shows has no ref, or several.
 */
const PAGES: readonly PageForm[] = [
  // GitLab
  { form: /^(?<repo>[^/]+\/.+?)\/-\/(?<view>tree|blob|raw|blame|edit|commits?)\/(?<rest>.+)$/ },
  { form: /^(?<repo>[^/]+\/.+?)\/-\/(?<several>compare|releases\/permalink)\/.+$/ },
  { form: /^(?<repo>[^/]+\/.+?)\/-\/(?:tags|releases)\/(?<whole>.+?)(?:\/downloads\/.+)?$/ },
  { form: /^(?<repo>[^/]+\/.+?)\/-\/archive\/(?<whole>.+)\/[^/]+$/ },
  {
    form: /^(?<repo>[^/]+\/.+?)\/-\/merge_requests\/(?<change>\d+)(?:\/.*)?$/,
    changes: 'refs/merge-requests/*/head',
  },
  { form: /^(?<repo>[^/]+\/.+?)\/-(?:\/.*)?$/ },
  // Gitea and Forgejo
  {
    form: /^(?<repo>[^/]+\/[^/]+\/[^/]+)\/(?<view>src|raw|media|blame|commits)\/(?:branch|tag|commit)\/(?<rest>.+)$/,
  },
  // Bitbucket Cloud
  { form: /^(?<repo>bitbucket\.org\/[^/]+\/[^/]+)\/(?<view>src|raw|commits)\/(?<rest>.+)$/ },
  { form: /^(?<repo>bitbucket\.org\/[^/]+\/[^/]+)\/branch\/(?<whole>.+)$/ },
  { form: /^(?<repo>bitbucket\.org\/[^/]+\/[^/]+)\/(?<several>pull-requests\/\d|branches\/compare\/).*$/ },
  // Bitbucket Data Center
  {
    form: /^(?<host>[^/]+(?:\/[^/]+)??)\/(?<kind>projects|users)\/(?<key>[^/]+)\/repos\/(?<name>[^/]+)\/(?:commits\/(?<whole>[^/]+)|pull-requests\/(?<change>\d+)(?:\/.*)?)$/,
    changes: 'refs/pull-requests/*/from',
  },
  {
    form: /^(?<host>[^/]+(?:\/[^/]+)??)\/(?<kind>projects|users)\/(?<key>[^/]+)\/repos\/(?<name>[^/]+)(?:\/(?<view>browse|raw)(?:\/(?<folder>.+))?|\/.*)?$/,
  },
  // Azure DevOps
  {
    form: /^(?<repo>[^/]+\/(?:.+\/)?_git\/[^/]+)(?:\/commit\/(?<whole>[^/]+)|\/pullrequest\/(?<change>\d+)|\/.*)?$/,
    changes: 'refs/pull/*/merge',
  },
  // GitHub, its Enterprise Server, and hosts that took its form
  { form: /^(?<repo>[^/]+\/[^/]+\/[^/]+)\/(?<view>tree|blob)\/(?<rest>.+)$/ },
  { form: /^(?<repo>github\.com\/[^/]+\/[^/]+)\/(?<view>raw|blame|edit|commits)\/(?<rest>.+)$/ },
  // GitHub and Codeberg
  {
    form: /^(?<repo>(?:github\.com|codeberg\.org)\/[^/]+\/[^/]+)\/(?:commit|releases\/tag|zipball|tarball|pulls?\/\d+\/(?:commits|files|changes)(?=\/[\da-f]{40}$))\/(?<whole>.+)$/,
  },
  {
    form: /^(?<repo>(?:github\.com|codeberg\.org)\/[^/]+\/[^/]+)\/(?:releases\/download\/(?<whole>.+)\/[^/]+|pulls?\/(?<change>\d+)(?:\/.*)?)$/,
    changes: 'refs/pull/*/head',
  },
  {
    form: /^(?<repo>(?:github\.com|bitbucket\.org|codeberg\.org)\/[^/]+\/[^/]+)\/(?:archive|get)\/(?<whole>.+?)\.(?:zip|tgz|bundle|tar(?:\.\w+)?)$/,
  },
  { form: /^(?<repo>(?:github\.com|codeberg\.org)\/[^/]+\/[^/]+)\/(?<several>compare\/|releases\/latest).*$/ },
  // A page about a repository as a whole, then a folder without its branch
  {
    form: /^(?<repo>(?:github\.com|bitbucket\.org|codeberg\.org)\/[^/]+\/[^/]+)\/(?:issues|pulls?|pull-requests|actions|wiki|releases|tags|branches|commits?|discussions|projects|activity|security|settings|archive|compare|graphs|network|labels|milestones|packages(?=$|\/\d)|search|stargazers|forks)(?:\/.*)?$/,
  },
  {
    form: /^(?<repo>(?:bitbucket\.org|codeberg\.org)\/[^/]+\/[^/]+)\/(?:overview|src|downloads|pipelines|packages)(?:\/.*)?$/,
  },
  {
    form: /^(?<repo>github\.com\/(?!(?:orgs|features|topics|marketplace|sponsors|collections|settings)\/)[^/]+\/[^/]+)\/(?<folder>.+)$/,
  },
]

function pageAt({ host, pathname }: URL): { readonly groups: Groups; readonly changes?: string } | undefined {
  const at = `${host}${pathname}`
    .replace(/\/+$/, '')
    .replace(/^www\.(?=github\.com\/|gitlab\.com\/|bitbucket\.org\/)/, '')
    .replace(/^(git\.sr\.ht\/~[^/]+\/[^/]+\/(?:tree|blob)\/[^/]+)\/item\//, '$1/')
    .replace(/^raw\.githubusercontent\.com(\/[^/]+\/[^/]+)\//, 'github.com$1/raw/')
    .replace(/^codeload\.github\.com(\/[^/]+\/[^/]+)\/(?:legacy\.)?(?:zip|tar\.gz)\//, 'github.com$1/zipball/')
  // A repository may be called like a page.
  if (at.endsWith('.git')) return undefined
  for (const { form, changes } of PAGES) {
    const groups = form.exec(at)?.groups
    if (groups !== undefined) return { groups, ...(changes !== undefined && { changes }) }
  }
  return undefined
}

type Groups = Readonly<Partial<Record<string, string>>>

function pageOf(url: URL, fragment: string): RepositoryPlace | undefined {
  const page = pageAt(url)
  if (page === undefined) return undefined
  const { view = '', rest, whole = '', change, folder } = page.groups
  const queried = chosenBy(url.searchParams)
  const path = partsOf(rest ?? folder ?? queried.root ?? '')
  const first = rest === undefined ? partsOf(whole) : path.splice(0, path[0] === 'refs' ? 3 : 1)
  const shown = change === undefined ? first.join('/') : page.changes?.replace('*', change)
  // Where the address has no branch, it stands behind it. Else it is a place on the page.
  const behind = page.groups['repo'] !== undefined && folder !== undefined ? pinned(fragment) : {}
  const ref = behind.ref ?? queried.ref ?? shown?.replace(/^refs\/heads\//, '') ?? ''
  if (/^(?:blob|raw|blame|edit|media)$/.test(view) || /\.md$/i.test(path.at(-1) ?? '')) path.pop()
  path.push(...partsOf(behind.root ?? ''))
  return {
    url: repositoryOf(url.protocol, page.groups),
    ...(ref !== '' && ref !== 'HEAD' && { ref }),
    ...(path.length > 0 && { root: path.join('/') }),
  }
}

function repositoryOf(protocol: string, { repo, host, kind, key, name }: Groups): string {
  return `${protocol}//${repo ?? `${host}/scm/${kind === 'users' ? '~' : ''}${key}/${name}.git`}`
}

function partsOf(path: string): string[] {
  return path
    .split('/')
    .map(decoded)
    .filter((part) => part !== '')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return text
    throw error
  }
}
