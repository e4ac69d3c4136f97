// Declarations about one distribution: the set-up of clients, and its publications.
import Type from 'typebox'
import { Nullable, pageOf, pageQuery, TimeSchema } from '../http/schemas.ts'
import { declare } from '../http/route.ts'

const Codename = Type.Object({ codename: Type.String() })

export const getDistributionsCodenameSetup = declare({
  method: 'GET',
  path: '/distributions/{codename}/setup',
  tag: 'distributions',
  summary: 'The files and commands that set up a client, as the repository listeners offer them',
  access: 'reader+',
  params: Codename,
  answer: Type.Object(
    {
      codename: Type.String(),
      full_name: Type.String(),
      format: Type.String(),
      package_manager: Type.String(),
      url: Type.String({ description: 'of the repository server' }),
      key_url: Type.String(),
      command: Type.String({ description: 'sets up a machine by the script' }),
      install_command: Type.String({ description: 'installs packages, followed by their names' }),
      file: Type.Object({ url: Type.String(), install_as: Type.String(), content: Type.String() }),
      script: Type.Object({ url: Type.String(), content: Type.String() }),
      private: Type.Boolean({ description: 'the script takes the token of the machine from GATEHOUSE_TOKEN' }),
      credentials: Nullable(
        Type.Object(
          { install_as: Type.String(), content: Type.String() },
          {
            description:
              'a file for the token, which takes the place of `<token>`; null where `file` has it or none is needed',
          },
        ),
      ),
    },
    { title: 'ClientSetup' },
  ),
  problems: ['not_found', 'distribution_inactive'],
})

export const getDistributionsCodenamePublications = declare({
  method: 'GET',
  path: '/distributions/{codename}/publications',
  tag: 'distributions',
  summary: 'When a distribution was published and why, the newest first, as far as the history is kept',
  access: 'reader+',
  params: Codename,
  query: Type.Object(pageQuery()),
  answer: Type.Intersect(
    [
      pageOf(
        Type.Object({
          revision: Type.Integer(),
          generation: Type.String(),
          published_at: TimeSchema,
          causes: Type.Array(Type.String(), {
            description: 'why packages entered and left; without any it was published again unchanged',
          }),
          live: Type.Boolean({ description: 'what clients see now' }),
          added: Nullable(Type.Integer({ description: 'packages, at most 1000; null for the oldest that is kept' })),
          removed: Nullable(Type.Integer()),
        }),
      ),
      Type.Object({ total_capped: Type.Boolean({ description: 'there are more than `total`' }) }),
    ],
    { title: 'PublicationPage' },
  ),
  problems: ['validation_error', 'not_found'],
})
