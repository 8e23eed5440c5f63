package store

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// writes returns a channel that receives when something was written to a file
// in dir, by whatever process, a hundred times a second at most. The lock file
// is mapped and not written to, so that readers cause nothing. It is closed when
// ctx has ended, or the system tells no more.
func writes(ctx context.Context, dir string) (<-chan struct{}, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_MODIFY); err != nil {
		syscall.Close(fd)
		return nil, fmt.Errorf("inotify %s: %w", dir, err)
	}
	notices := os.NewFile(uintptr(fd), "inotify") // waits without a thread
	context.AfterFunc(ctx, func() { notices.Close() })
	out := make(chan struct{}, 1)
	go func() {
		defer close(out)
		buf := make([]byte, 4<<10)
		for {
			if _, err := notices.Read(buf); err != nil {
				return
			}
			signal(out)
			pause(ctx, lookPause)
		}
	}()
	return out, nil
}
