package operator

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// LogOutput opens the places where log lines go: "stdout", "stderr" and files, which are appended to. Call the function when the last
// line is written.
func LogOutput(paths []string, stdout, stderr io.Writer) (io.Writer, func() error, error) {
	var writers []io.Writer
	var files []*os.File
	closeAll := func() error {
		var errs []error
		for _, f := range files {
			errs = append(errs, f.Sync(), f.Close())
		}
		return errors.Join(errs...)
	}
	for _, path := range paths {
		switch path {
		case "stdout":
			writers = append(writers, stdout)
		case "stderr":
			writers = append(writers, stderr)
		default:
			f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return nil, nil, errors.Join(fmt.Errorf("opening log output: %w", err), closeAll())
			}
			files, writers = append(files, f), append(writers, f)
		}
	}
	return io.MultiWriter(writers...), closeAll, nil
}
