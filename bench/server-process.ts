import { GitServer } from '../test/support/git-server.ts'
import { Repository } from '../test/support/repository.ts'

// The git server of a measurement, apart from both that are measured. Started with the folders of repositories; tells their
// addresses, and ends when the one who started it goes.

const server = await GitServer.start()
const urls: string[] = []
for (const [index, folder] of process.argv.slice(2).entries()) {
  // The folder holds the repository already: making it again leaves it as it is.
  urls.push(server.serve(`skills-${index + 1}`, await Repository.create({ folder })))
}
process.send?.(urls)
process.once('disconnect', () => void server[Symbol.asyncDispose]())
