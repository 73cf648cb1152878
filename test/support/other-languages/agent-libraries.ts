/** What the agents of the documentation in other languages import, and Debian's packages that have it. */
export const agentLibraries = {
  py: { modules: ['authlib', 'requests'], packages: 'python3-authlib python3-requests' },
  go: {
    modules: ['golang.org/x/oauth2', 'gopkg.in/square/go-jose.v2/jwt'],
    packages: 'golang-go golang-golang-x-oauth2-dev golang-gopkg-square-go-jose.v2-dev',
  },
} as const;
