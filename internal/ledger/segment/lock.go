package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrInUse says that another Writer has the directory.
var ErrInUse = errors.New("another controller writes to this directory: give each controller a directory for itself")

// lockName is the file whose lock shows that a directory belongs to a Writer. It stays when the Writer ends.
const lockName = "lock"

// lockDir locks a directory until the file is closed or the process ends, also in a crash. It does not wait.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("locking the directory of the ledger: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // a file descriptor is a small number
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = fmt.Errorf("locking %s: %w", path, ErrInUse)
	case err != nil:
		err = fmt.Errorf("locking %s: %w", path, err)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
