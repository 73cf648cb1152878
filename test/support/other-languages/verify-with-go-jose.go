// Verifies the task tokens on standard input, one a line, with go-jose. docs/tool-servers.md shows lines of this file.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	jose "gopkg.in/square/go-jose.v2"
	"gopkg.in/square/go-jose.v2/jwt"
)

type actor struct {
	Subject string `json:"sub"`
	Depth   int    `json:"depth"`
	Actor   *actor `json:"act"`
}

type claims struct {
	jwt.Claims
	Scope              string `json:"scope"`
	Actor              *actor `json:"act"`
	IntrospectRequired *bool  `json:"introspect_required"`
}

func verified(keys *jose.JSONWebKeySet, issuer, audience, raw string) (*claims, error) {
	token, err := jwt.ParseSigned(raw)
	if err != nil {
		return nil, err
	}
	header := token.Headers[0]
	if header.Algorithm != string(jose.ES256) || header.ExtraHeaders[jose.HeaderType] != "at+jwt" {
		return nil, errors.New("the token is not of the type at+jwt, or not signed with ES256")
	}
	// An unknown kid: fetch the keys again, at most once in 30 s.
	named := keys.Key(header.KeyID)
	if len(named) == 0 {
		return nil, errors.New("the token names no published key")
	}
	var claims claims
	// Claims checks the signature only.
	if err := token.Claims(named[0].Key, &claims); err != nil {
		return nil, err
	}
	expected := jwt.Expected{Issuer: issuer, Audience: jwt.Audience{audience}, Time: time.Now()}
	if err := claims.ValidateWithLeeway(expected, time.Minute); err != nil {
		return nil, err
	}
	isTaskToken := claims.Expiry != nil && claims.ID != "" &&
		claims.Subject != "" && !strings.HasPrefix(strings.ToLower(claims.Subject), "agent:") &&
		claims.Actor != nil && strings.HasPrefix(claims.Actor.Subject, "agent:") &&
		claims.Actor.Depth == 1 && claims.Actor.Actor == nil &&
		claims.IntrospectRequired == nil
	if !isTaskToken {
		return nil, errors.New("the token is no task token that may be checked here")
	}
	return &claims, nil
}

func main() {
	issuer, audience := os.Getenv("MANDATE_ISSUER"), os.Getenv("AUDIENCE")
	answer, err := http.Get(issuer + "/.well-known/jwks.json")
	if err != nil {
		panic(err)
	}
	var keys jose.JSONWebKeySet
	if err := json.NewDecoder(answer.Body).Decode(&keys); err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if claims, err := verified(&keys, issuer, audience, lines.Text()); err != nil {
			fmt.Println("refused")
		} else {
			fmt.Println("accepted", claims.Subject)
		}
	}
}
