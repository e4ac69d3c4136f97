// Inside a reader: renders a name whose upstream lists thousands of versions.
import { registryFormats } from '../../formats/index.ts'
import { renderListing, type RenderArgument, type Rendered } from './render.ts'

export async function render(argument: RenderArgument): Promise<Rendered> {
  const format = registryFormats.find(({ id }) => id === argument.format)
  if (!format) throw new Error(`no format ${argument.format}`)
  return renderListing(format, argument)
}
