package lmdbx

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const (
	lockPage   = 4096 // bytes; holds what is needed to open, and some 60 readers
	lockReader = 64   // bytes a reader, the last of which stand behind what is shared
	keepSize   = 1    // FALLOC_FL_KEEP_SIZE: how large the file is tells others how many readers it has
	blockSize  = 512  // bytes, in what stat counts
)

// reserveLock has LMDB's lock file on the disk before LMDB maps it. LMDB makes
// one of holes and writes to them as memory: on a full disk that kills whoever
// does so, and be it to read. It fails where there is no room to open; that
// there is less than for all readers does not matter to those before.
func reserveLock(dir string, maxReaders int) error {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil // LMDB says it better, or can do without
	}
	defer f.Close() // nothing was written
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	size := max(st.Size, lockPage+int64(maxReaders)*lockReader)
	if st.Blocks*blockSize >= size {
		return nil
	}
	err = syscall.Fallocate(int(f.Fd()), keepSize, 0, lockPage)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return err
	}
	_ = syscall.Fallocate(int(f.Fd()), keepSize, lockPage, size-lockPage)
	return nil
}
