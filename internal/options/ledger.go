package options

import (
	"errors"
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/api/quantity"
)

// Ledger is where decisions are recorded, and how many of them are kept.
type Ledger struct {
	// Memory is the most that records in memory take; 0 keeps none there.
	Memory Bytes `name:"ledger-memory" envvar:"LEDGER_MEMORY" group:"Ledger" default:"64Mi" placeholder:"BYTES" help:"Memory for the newest records of the decision ledger (${default}); 0 keeps none in memory, and turns the ledger off without --ledger-dir."`
	// Dir has the records on disk; empty keeps none there.
	Dir string `name:"ledger-dir" envvar:"LEDGER_DIR" group:"Ledger" placeholder:"DIR" help:"Directory for the records of the decision ledger, of this controller only. Default: none are kept on disk."`
	// Disk is the most that segments in Dir take.
	Disk Bytes `name:"ledger-disk" envvar:"LEDGER_DISK" group:"Ledger" default:"1Gi" placeholder:"BYTES" help:"Space for these files (${default}); the oldest are deleted."`
}

// Enabled reports whether decisions are recorded.
func (l Ledger) Enabled() bool { return l.Memory > 0 || l.Dir != "" }

// The least sizes of the ledger that make sense: a record may have a megabyte, and a segment on disk eight.
const (
	minLedgerMemory = 2 << 20
	minLedgerDisk   = 32 << 20
)

func (l Ledger) validate(refuse func(flag, env string, value any, format string, args ...any)) {
	if l.Memory != 0 && l.Memory < minLedgerMemory {
		refuse("ledger-memory", "LEDGER_MEMORY", l.Memory, "must be 0 or at least 2Mi")
	}
	if l.Disk < minLedgerDisk {
		refuse("ledger-disk", "LEDGER_DISK", l.Disk, "must be at least 32Mi")
	}
}

// Bytes is a number of bytes, written as a quantity such as 64Mi.
type Bytes int64

// String is the number as a quantity.
func (b Bytes) String() string { return resource.NewQuantity(int64(b), resource.BinarySI).String() }

func parseBytes(text string) (Bytes, error) {
	amount, err := quantity.Parse(text)
	if err != nil {
		return 0, err
	}
	if amount.Sign() < 0 || amount.CmpInt64(amount.Value()) != 0 {
		return 0, errors.New("not a whole number of bytes")
	}
	return Bytes(amount.Value()), nil
}

// validAddress reports whether text is HOST:PORT, where HOST may be empty.
func validAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n <= 65535
}
