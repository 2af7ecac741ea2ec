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
  const found = pageOf(url)
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
  return full.replace(/^(https:\/\/github\.com\/[^/@]+\/[^/@#?]+|[^#?]+\.git)@([^@#]+)#?/i, '$1#$2&')
}

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

/** The addresses of pages, without scheme. `rest`: the ref, then the path; `folder`: the path alone. */
const PAGES: readonly RegExp[] = [
  // GitLab
  /^(?<repo>[^/]+\/.+?)\/-\/(?<view>tree|blob|raw|blame|edit|commits?|tags)\/(?<rest>.+)$/,
  /^(?<repo>[^/]+\/.+?)\/-(?:\/.*)?$/,
  // Gitea and Forgejo
  /^(?<repo>[^/]+\/[^/]+\/[^/]+)\/(?<view>src|raw|media|blame|commits)\/(?:branch|tag|commit)\/(?<rest>.+)$/,
  // Bitbucket Cloud
  /^(?<repo>bitbucket\.org\/[^/]+\/[^/]+)\/(?<view>src|raw|branch|commits)\/(?<rest>.+)$/,
  // Bitbucket Data Center
  /^(?<host>[^/]+(?:\/[^/]+)??)\/(?<kind>projects|users)\/(?<key>[^/]+)\/repos\/(?<name>[^/]+)(?:\/(?<view>browse|raw)(?:\/(?<folder>.+))?|\/.*)?$/,
  // Azure DevOps
  /^(?<repo>[^/]+\/(?:.+\/)?_git\/[^/]+)(?:\/.*)?$/,
  // GitHub, its Enterprise Server, and hosts that took its form
  /^(?<repo>[^/]+\/[^/]+\/[^/]+)\/(?<view>tree|blob)\/(?<rest>.+)$/,
  /^(?<repo>github\.com\/[^/]+\/[^/]+)\/(?<view>raw|blame|edit|commits?|releases\/tag)\/(?<rest>.+)$/,
  // A page about a repository as a whole, then a folder without its branch
  /^(?<repo>(?:github\.com|bitbucket\.org|codeberg\.org)\/[^/]+\/[^/]+)\/(?:issues|pulls?|pull-requests|actions|wiki|releases|tags|branches|commits?|discussions|projects|activity|security|settings|overview|src|downloads|pipelines|archive|compare|graphs|network|labels|milestones|packages|search|stargazers|forks)(?:\/.*)?$/,
  /^(?<repo>github\.com\/(?!(?:orgs|features|topics|marketplace|sponsors|collections|settings)\/)[^/]+\/[^/]+)\/(?<folder>.+)$/,
]

function pageOf({ protocol, host, pathname, searchParams: query }: URL): RepositoryPlace | undefined {
  const at = `${host}${pathname}`
    .replace(/\/+$/, '')
    .replace(/^www\.(?=github\.com\/|gitlab\.com\/|bitbucket\.org\/)/, '')
    .replace(/^(git\.sr\.ht\/~[^/]+\/[^/]+\/(?:tree|blob)\/[^/]+)\/item\//, '$1/')
    .replace(/^raw\.githubusercontent\.com(\/[^/]+\/[^/]+)\//, 'github.com$1/raw/')
  // A repository may be called like a page.
  const found = at.endsWith('.git') ? undefined : PAGES.map((form) => form.exec(at)).find((match) => match !== null)
  if (found?.groups === undefined) return undefined
  const { repo, view = '', rest, folder, host: server, kind, key, name } = found.groups
  const queried = chosenBy(query)
  const path = partsOf(rest ?? folder ?? queried.root ?? '')
  const first = rest === undefined ? '' : path.splice(0, path[0] === 'refs' ? 3 : 1).join('/')
  const ref = queried.ref ?? first.replace(/^refs\/heads\//, '')
  if (/^(?:blob|raw|blame|edit|media)$/.test(view) || /\.md$/i.test(path.at(-1) ?? '')) path.pop()
  const address = repo ?? `${server}/scm/${kind === 'users' ? '~' : ''}${key}/${name}.git`
  return {
    url: `${protocol}//${address}`,
    ...(ref !== '' && ref !== 'HEAD' && { ref }),
    ...(path.length > 0 && { root: path.join('/') }),
  }
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
