/** RFC 9110 §5.6.2: the signs of a token that are neither digits nor letters. */
export const TOKEN_SIGNS = "!#$%&'*+-.^_`|~";
