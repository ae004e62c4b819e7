#!/bin/sh
# Buys the resource at an address with nothing but curl:
#   PURSER_URL=… PURSER_AGENT_KEY=… PURSER_AGENT_ID=… PURSER_MANDATE_ID=… sh buy.sh https://api.example.com/data
set -eu
address=$1

# The value of a text field in a flat JSON object.
field() { sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p'; }

# The key goes through a pipe: on the command line, every user of the machine could read it.
purser() {
  path=$1
  body=$2
  printf 'header = "Authorization: Bearer %s"\n' "$PURSER_AGENT_KEY" |
    curl -sS --max-time 10 -K - -H 'Content-Type: application/json' -d "$body" "$PURSER_URL$path"
}

# 1. Request it. A merchant that wants to be paid answers 402 with the price.
challenge=$(curl -sS --max-time 30 "$address")
amount=$(echo "$challenge" | field amount)
resource=$(echo "$challenge" | field resource)
if [ "$resource" != "$address" ]; then
  echo "not an offer for $address: $challenge" >&2
  exit 1
fi

# 2. Request a proof. Its amount is held in the budget until the proof is used, or for six minutes.
answer=$(purser /v1/payments/proof '{"agent_id": "'"$PURSER_AGENT_ID"'", "mandate_id": "'"$PURSER_MANDATE_ID"'",
  "amount": "'"$amount"'", "resource_url": "'"$resource"'"}')
proof=${answer#'{"proof":'}
if [ "$proof" = "$answer" ]; then
  echo "refused: $answer" >&2
  exit 1
fi
proof=${proof%'}'}

# 3. Repeat the request with the unmodified proof. If this is interrupted, send the same proof again.
header=$(printf %s "$proof" | base64 | tr '+/' '-_' | tr -d '=\n')
curl -sS --max-time 30 -H "X-Payment-Proof: $header" "$address"
