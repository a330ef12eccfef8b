package binaries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// CacheEnv overrides the root of the cache.
const CacheEnv = "KARPENTER_LOCAL_CACHE"

// Cache stores built programs: one directory per set of versions below one root.
type Cache struct {
	Root     string
	Versions Versions
}

// NewCache returns the cache for the versions that the modules pin. Its root is $KARPENTER_LOCAL_CACHE, else
// $XDG_CACHE_HOME/karpenter-anew, else ~/.cache/karpenter-anew.
func NewCache(modules Modules) (Cache, error) {
	versions, err := modules.Versions()
	if err != nil {
		return Cache{}, err
	}
	root, err := cacheRoot()
	if err != nil {
		return Cache{}, err
	}
	return Cache{Root: root, Versions: versions}, nil
}

func cacheRoot() (string, error) {
	if root := os.Getenv(CacheEnv); root != "" {
		return filepath.Abs(root)
	}
	if xdg := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(xdg) {
		return filepath.Join(xdg, "karpenter-anew"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory (set %s to choose one): %w", CacheEnv, err)
	}
	return filepath.Join(home, ".cache", "karpenter-anew"), nil
}

// Bin is the directory of the programs; it may not exist yet.
func (c Cache) Bin() string { return filepath.Join(c.Root, c.Versions.Key(), "bin") }

// Path is the path of the program of this name, whether it is built or not.
func (c Cache) Path(program string) string { return filepath.Join(c.Bin(), program) }

// missing lists the programs that are not built, in build order.
func (c Cache) missing() ([]program, error) {
	var out []program
	for _, p := range programs(c.Versions) {
		info, err := os.Stat(c.Path(p.name))
		switch {
		case errors.Is(err, os.ErrNotExist):
			out = append(out, p)
		case err != nil:
			return nil, fmt.Errorf("looking for %s: %w", p.name, err)
		case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
			return nil, fmt.Errorf("looking for %s: %s is not a program: remove it and retry", p.name, c.Path(p.name))
		}
	}
	return out, nil
}
