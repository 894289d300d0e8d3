#!/usr/bin/python3
"""Holds what pmrec recorded in the x86_64 guest against what the machine and the guest's own tools say."""
from guest import Checks, Guest


def statuses(t, guest):
    for what, good, found in guest.check_statuses():
        t.check(what, good, found)


def main():
    guest, t = Guest("x86_64"), Checks()
    for section in (statuses,):
        t.run(section.__name__, section, guest)
    t.end()


if __name__ == "__main__":
    main()
