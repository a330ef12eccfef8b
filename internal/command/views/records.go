package views

import (
	"strings"

	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/ledger/reader"
)

// Ledger are the flags that name a decision ledger.
type Ledger struct {
	Source    string `name:"ledger" placeholder:"DIR|URL" help:"The decision ledger, for history: the directory of --ledger-dir of the controller, or the address of its console, such as http://127.0.0.1:8082 after kubectl port-forward."`
	TokenFile string `name:"ledger-token-file" placeholder:"FILE" help:"File with the bearer token for the address of --ledger."`
	Authority string `name:"ledger-certificate-authority" placeholder:"FILE" help:"Certificate of the authority that signed that of the address of --ledger."`
	SkipTLS   bool   `name:"ledger-insecure-skip-tls-verify" help:"Do not verify the certificate of the address of --ledger."`
}

// Records are those of the ledger that the flags name; nil for none.
func (l Ledger) Records() ledger.Records {
	switch {
	case l.Source == "":
		return nil
	case strings.HasPrefix(l.Source, "http://") || strings.HasPrefix(l.Source, "https://"):
		return &reader.Client{Address: l.Source, TokenFile: l.TokenFile, Authority: l.Authority, Insecure: l.SkipTLS}
	default:
		return reader.NewDir(l.Source)
	}
}
