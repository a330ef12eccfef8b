#!/usr/bin/env bash
# Fetches the libraries of the page from npm into this folder: make web-vendor. PACKAGES pins each with the checksum of its archive, and
# FILES names the files that are taken. The page has no import map, which a strict content security policy refuses, so names of packages in
# imports are replaced by names of files; nothing else is changed, and web_test.go holds that.
set -euo pipefail
cd "$(dirname "$0")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

while read -r package checksum; do
  archive="$work/$(cd "$work" && npm pack --silent "$package")"
  got="$(sha256sum < "$archive" | cut -d' ' -f1)"
  [ "$got" = "$checksum" ] || { echo "$package: the archive has checksum $got, and PACKAGES says $checksum" >&2; exit 1; }
  mkdir -p "$work/$package"
  tar -xzf "$archive" -C "$work/$package" --strip-components=1
done < PACKAGES

while read -r checksum file package path; do
  echo "$checksum  $work/$package/$path" | sha256sum --check --quiet
  case "$file" in
    *.mjs) sed -e 's#from"preact"#from"./preact.mjs"#g' -e 's#from"preact/hooks"#from"./preact-hooks.mjs"#g' \
      -e 's#from"@preact/signals-core"#from"./signals-core.mjs"#g' "$work/$package/$path" > "$file" ;;
    *) cp "$work/$package/$path" "$file" ;;
  esac
done < FILES
echo "fetched $(wc -l < FILES) files of $(wc -l < PACKAGES) packages"
