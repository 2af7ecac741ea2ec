/** The methods or the document by which an MCP server told of its skills, newest first; `uris`: those that we asked for alone. */
export type ListingForm = 'skills/list' | 'index' | 'fastmcp' | 'uris' | 'none'
