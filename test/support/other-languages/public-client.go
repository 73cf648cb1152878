// A public client of golang.org/x/oauth2. Each run is one step: the environment has the addresses, the standard input what
// the step before wrote. What it writes is JSON.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

type members map[string]interface{}

func text(given members, name string) string {
	value, _ := given[name].(string)
	return value
}

func random() string {
	bytes := make([]byte, 32)
	if _, err := rand.Read(bytes); err != nil {
		log.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(bytes)
}

func begin(config *oauth2.Config) members {
	verifier, state := random(), random()
	hash := sha256.Sum256([]byte(verifier))
	address := config.AuthCodeURL(state,
		oauth2.SetAuthURLParam("code_challenge", base64.RawURLEncoding.EncodeToString(hash[:])),
		oauth2.SetAuthURLParam("code_challenge_method", "S256"),
		oauth2.SetAuthURLParam("resource", os.Getenv("RESOURCE")))
	return members{"address": address, "state": state, "verifier": verifier}
}

func redeem(config *oauth2.Config, given members) members {
	answer, err := url.Parse(text(given, "answer"))
	if err != nil || answer.Query().Get("state") != text(given, "state") {
		log.Fatal("The answer is not that of this request.")
	}
	return written(config.Exchange(context.Background(), answer.Query().Get("code"),
		oauth2.SetAuthURLParam("code_verifier", text(given, "verifier"))))
}

func refresh(config *oauth2.Config, given members) members {
	expired := &oauth2.Token{RefreshToken: text(given, "refresh_token"), Expiry: time.Now().Add(-time.Hour)}
	return written(config.TokenSource(context.Background(), expired).Token())
}

func written(token *oauth2.Token, err error) members {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		answer := members{}
		if err := json.Unmarshal(refused.Body, &answer); err != nil {
			log.Fatal(err)
		}
		return members{"error": answer["error"]}
	}
	if err != nil {
		log.Fatal(err)
	}
	return members{
		"access_token":  token.AccessToken,
		"refresh_token": token.RefreshToken,
		"scope":         token.Extra("scope"),
	}
}

func main() {
	given := members{}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		log.Fatal(err)
	}
	style := oauth2.AuthStyleAutoDetect
	if os.Getenv("IN_BODY") != "" {
		style = oauth2.AuthStyleInParams
	}
	config := &oauth2.Config{
		ClientID:    os.Getenv("CLIENT_ID"),
		RedirectURL: os.Getenv("REDIRECT_URI"),
		Scopes:      strings.Fields(os.Getenv("SCOPE")),
		Endpoint: oauth2.Endpoint{
			AuthURL:   os.Getenv("AUTHORIZATION_ENDPOINT"),
			TokenURL:  os.Getenv("TOKEN_ENDPOINT"),
			AuthStyle: style,
		},
	}
	var answer members
	switch os.Getenv("STEP") {
	case "begin":
		answer = begin(config)
	case "redeem":
		answer = redeem(config, given)
	case "refresh":
		answer = refresh(config, given)
	default:
		log.Fatal("There is no such step.")
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		log.Fatal(err)
	}
}
