# Verifies the task tokens on standard input, one a line, with ruby-jwt. docs/tool-servers.md shows lines of this file.

require 'json'
require 'jwt'
require 'net/http'

ISSUER = ENV.fetch('MANDATE_ISSUER')
AUDIENCE = ENV.fetch('AUDIENCE')

KEYS = lambda do |options|
  # An unknown kid: fetch again, at most once in 30 s.
  @keys = nil if options[:kid_not_found] && Time.now - @fetched > 30
  @keys ||= begin
    @fetched = Time.now
    JSON.parse(Net::HTTP.get(URI("#{ISSUER}/.well-known/jwks.json")), symbolize_names: true)
  end
end

def task_token?(claims)
  act = claims['act'] || {}
  !claims['sub'].downcase.start_with?('agent:') && act['sub'].to_s.start_with?('agent:') &&
    act['depth'] == 1 && !act.key?('act') && !claims.key?('introspect_required')
end

def verified(token)
  claims, header = JWT.decode(
    token, nil, true,
    algorithms: ['ES256'], jwks: KEYS, leeway: 60,
    # `iss` and `aud` alone are ignored.
    iss: ISSUER, verify_iss: true, aud: AUDIENCE, verify_aud: true,
    required_claims: %w[exp iat sub jti]
  )
  raise JWT::DecodeError, 'no task token' unless header['typ'] == 'at+jwt' && task_token?(claims)

  claims
end

$stdin.each_line do |line|
  puts "accepted #{verified(line.strip)['sub']}"
rescue JWT::DecodeError
  puts 'refused'
end
