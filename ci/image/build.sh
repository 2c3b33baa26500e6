#!/usr/bin/env bash
# Builds the production image without a registry: the binary, and libc6, libgcc and certificates from Debian packages.
#
# usage: build.sh [TAG]     (default knative-operator:dev; needs docker, apt-get and dpkg-deb)
set -euo pipefail
tag=${1:-knative-operator:dev}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# `-p`, so that no other member's features reach production.
(cd "$root" && cargo build --quiet --profile dist -p knative-operator)

mkdir "$work/packages" "$work/unpacked" "$work/root"
(cd "$work/packages" && apt-get -qq download libc6 libgcc-s1 ca-certificates)
for package in "$work"/packages/*.deb; do
  dpkg-deb -x "$package" "$work/unpacked"
done

# Only what the binary loads, and what finding names and trusting servers needs.
install -D -t "$work/root/usr/bin" "${CARGO_TARGET_DIR:-$root/target}/dist/knative-operator"
libraries=$(ldd "$work/root/usr/bin/knative-operator" | grep -o '/[^ )]*' | sort -u)
for library in $libraries $(find "$work/unpacked" -name 'libnss_dns.so.2' -o -name 'libnss_files.so.2' -o -name 'libresolv.so.2'); do
  name=$(basename "$library")
  source=$(find "$work/unpacked" -name "$name" | head -n 1)
  test -n "$source" || { echo "no Debian package here holds $name" >&2; exit 1; }
  install -D -T "$(readlink -f "$source")" "$work/root/lib/x86_64-linux-gnu/$name"
done
mkdir -p "$work/root/lib64" "$work/root/etc/ssl/certs" "$work/root/tmp"
ln -s ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$work/root/lib64/ld-linux-x86-64.so.2"
find "$work/unpacked/usr/share/ca-certificates/mozilla" -name '*.crt' | sort | xargs cat >"$work/root/etc/ssl/certs/ca-certificates.crt"
echo 'nonroot:x:65532:65532:nonroot:/:/sbin/nologin' >"$work/root/etc/passwd"
echo 'hosts: files dns' >"$work/root/etc/nsswitch.conf"

# The same input gives the same layer.
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work/root" -cf "$work/root.tar" .
cp "$here/Dockerfile" "$work/Dockerfile"
docker build --quiet --tag "$tag" -f "$work/Dockerfile" "$work" >/dev/null
docker image inspect --format '{{.Size}}' "$tag" | awk -v tag="$tag" '{printf "%s: %.1f MiB\n", tag, $1 / 1048576}'
