/** What a token request may do beyond the specification, each by its own setting. Off, nothing differs. */
export interface OptionalParameters {
  /** `Service:Exchange:ClientIsActor`: at an exchange, a `client_assertion` without an `actor_token` is the agent's. */
  readonly clientIsActor: boolean;
  /** `Service:Exchange:AudienceParameter`: `audience` can name the resource. */
  readonly audienceParameter: boolean;
}
