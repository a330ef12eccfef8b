// Command image packs a built program into a container image without a container engine: an OCI archive with the program and CA
// certificates only, and a software bill of materials (SBOM). The same program gives the same bytes.
//
// Usage: go run -C tools/image . -binary FILE -name NAME -version VERSION -out FILE.tar -sbom FILE.json
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
)

// options are the settings of a build.
type options struct {
	// binary is the path of the program.
	binary string
	// name is the name of the image and of the program in it, version the version of both.
	name, version string
	// out and sbom are the paths of the archive and of the SBOM.
	out, sbom string
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "", "program, linked statically for Linux")
	flag.StringVar(&o.name, "name", "karpenter", "name of the image and of the program in it")
	flag.StringVar(&o.version, "version", "", "version")
	flag.StringVar(&o.out, "out", "", "archive to write")
	flag.StringVar(&o.sbom, "sbom", "", "SBOM to write")
	flag.Parse()
	digest, err := o.build()
	if err != nil {
		slog.Error("building the image failed", "error", err)
		os.Exit(1)
	}
	fmt.Printf("%s %s\n%s\n", o.out, digest, o.sbom)
}

// build writes both files and returns the digest of the image.
func (o options) build() (string, error) {
	p, err := readProgram(o.binary)
	if err != nil {
		return "", fmt.Errorf("reading program %q: %w", o.binary, err)
	}
	img, err := pack(p, o.name, o.version)
	if err != nil {
		return "", fmt.Errorf("packing program %q: %w", o.binary, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return "", err
	}
	if err := archive(img, o.version, o.out); err != nil {
		return "", fmt.Errorf("writing archive %q: %w", o.out, err)
	}
	sbom, err := encodeSBOM(p, o.name, o.version)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(o.sbom, sbom, 0o644); err != nil {
		return "", err
	}
	return digest.String(), nil
}
