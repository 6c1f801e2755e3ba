Feature: The files of a skill
  Everything bundled with a skill is listed and can be read, in bounded pieces, and nothing else: no path, link or
  special file leads out of the skill's own folder.

  # --- listing --------------------------------------------------------------------------------------------------------

  @S1-22 @S1-29
  Scenario Outline: All files are listed on demand with their kind and size, whatever their folder (<profile>)
    Given a skill "deploy" in "skills"
    And the file "skills/deploy/scripts/run.py" of the text "print(1)\n"
    And the file "skills/deploy/references/guide.md" of the text "# Guide\n"
    And the file "skills/deploy/references/deep/er/more.md" of the text "more"
    And the file "skills/deploy/assets/template.json" of the text "{}"
    And the file "skills/deploy/examples/one.txt" of the text "1"
    And the file "skills/deploy/LICENSE" of the text "MIT"
    And the folder "skills" as a <profile> source
    When the files of "deploy" are listed
    Then the files are
      | path                       | kind      | size |
      | LICENSE                    | other     | 3    |
      | assets/template.json       | asset     | 2    |
      | examples/one.txt           | other     | 1    |
      | references/deep/er/more.md | reference | 4    |
      | references/guide.md        | reference | 8    |
      | scripts/run.py             | script    | 9    |
    And every path is relative to the skill, with slashes

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  Scenario: A skill without files has an empty listing
    Given a skill "mail" in "skills"
    And the folder "skills" as a LENIENT source
    When the files of "mail" are listed
    Then there are no files

  Scenario: Hidden files, caches and folders themselves are not files of a skill
    Given a skill "mail" in "skills"
    And the file "skills/mail/.env" of the text "SECRET=1"
    And the file "skills/mail/scripts/__pycache__/run.pyc" of the text "x"
    And the folder "skills/mail/scripts/empty"
    And the file "skills/mail/scripts/run.py" of the text "x"
    And the folder "skills" as a LENIENT source
    When the files of "mail" are listed
    Then the files are
      | path           | kind   | size |
      | scripts/run.py | script | 1    |
    When the file ".env" of "mail" is read
    Then it is refused as a ResourceNotFoundError

  # --- paths ----------------------------------------------------------------------------------------------------------

  @S3-34
  Scenario Outline: A path that could leave the skill is refused before anything is read: <path>
    Given a skill "mail" in "skills"
    And the file "skills/mail/references/a.md" of the text "a"
    And a skill "pdf" in "skills"
    And the folder "skills" as a LENIENT source
    When the file "<path>" of "mail" is read
    Then it is refused as a ResourcePathError
    And it is also a ValueError
    And nothing on the disk was touched

    Examples:
      | path                        |
      | .                           |
      | ..                          |
      | ../pdf/SKILL.md             |
      | references/../../pdf/SKILL.md |
      | references/./a.md           |
      | references//a.md            |
      | references/                 |
      | /etc/hostname               |
      | references\\a.md            |
      | C:\\Windows\\win.ini        |
      | references/a.md\x00.txt     |
      | file:/etc/hostname          |
      | C:/Windows/win.ini          |

  @S3-34
  Scenario: An empty path is refused before anything is read
    Given a skill "mail" in "skills"
    And the folder "skills" as a STRICT source
    When the file "" of "mail" is read
    Then it is refused as a ResourcePathError
    And nothing on the disk was touched

  Scenario Outline: Names that only look like a way out are names like any other: <path>
    Given a skill "mail" in "skills"
    And the folder "skills" as a LENIENT source
    When the file "<path>" of "mail" is read
    Then it is refused as a ResourceNotFoundError

    Examples:
      | path                      |
      | %2e%2e/secret             |
      | ．．/secret               |
      | ~/secret                  |

  # --- whose file -----------------------------------------------------------------------------------------------------

  @S3-35
  Scenario Outline: A skill that cannot be used serves no file (<profile>)
    Given a SKILL.md without a description in "skills/broken"
    And the file "skills/broken/references/a.md" of the text "a"
    And the folder "skills" as a <profile> source
    When the file "references/a.md" of "broken" is read
    Then it is refused as a InvalidSkillError
    When the files of "broken" are listed
    Then it is refused as a InvalidSkillError

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-40
  Scenario Outline: A missing file is not a missing skill (<profile>)
    Given a skill "mail" in "skills"
    And the folder "skills" as a <profile> source
    When the file "references/nope.md" of "mail" is read
    Then it is refused as a ResourceNotFoundError
    And it is also a FileNotFoundError
    And it is not a SkillNotFoundError
    When the file "references/nope.md" of "nobody" is read
    Then it is refused as a SkillNotFoundError

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-41
  Scenario Outline: A skill that vanished since it was listed is an error, not an empty answer (<profile>)
    Given a skill "mail" in "skills"
    And the file "skills/mail/notes.md" of the text "n"
    And a skill "pdf" in "skills"
    And the folder "skills" as a <profile> source
    When its skills are listed
    Then the skills are "mail, pdf"
    When the copy "skills/mail" is taken away
    And the file "notes.md" of "mail" is read
    Then it is refused as a SkillNotFoundError
    When the files of "mail" are listed
    Then it is refused as a SkillNotFoundError

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  # --- only files -----------------------------------------------------------------------------------------------------

  @S3-36
  Scenario: A folder is not a file
    Given a skill "mail" in "skills"
    And the file "skills/mail/references/a.md" of the text "a"
    And the folder "skills" as a LENIENT source
    When the file "references" of "mail" is read
    Then it is refused as a ResourceTypeError
    And the message mentions "is a folder"

  @S3-37
  Scenario: A pipe is refused at once, not waited for
    Given a skill "mail" in "skills"
    And the pipe "skills/mail/pipe" that nobody writes to
    And the folder "skills" as a LENIENT source
    When the file "pipe" of "mail" is read
    Then it is refused as a ResourceTypeError
    And it takes less than a second
    When the files of "mail" are listed
    Then there are no files

  @S3-37
  Scenario Outline: A pipe for a SKILL.md breaks its own skill and holds up nothing (<profile>)
    Given a skill "good" in "skills"
    And the pipe "skills/odd/SKILL.md" that nobody writes to
    And the folder "skills" as a <profile> source
    When its skills are listed
    Then the skills are "good"
    And a error "skill-file-type" about "skills/odd/SKILL.md" is reported
    When the file "notes.md" of "odd" is read
    Then it is refused as a InvalidSkillError
    And it takes less than a second

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  # --- links ----------------------------------------------------------------------------------------------------------

  @S3-38
  Scenario Outline: A link that leaves the root is refused: <target>
    Given a skill "mail" in "skills"
    And the file "secret.md" of the text "secret"
    And the link "skills/mail/references/leak.md" to "<target>"
    And the folder "skills" as a LENIENT source
    When the file "references/leak.md" of "mail" is read
    Then it is refused as a ResourcePathError
    When the files of "mail" are listed
    Then there are no files
    And a warning "symlink-escape" about "skills/mail/SKILL.md" is reported

    Examples:
      | target             |
      | ../../../secret.md |
      | /etc/hostname      |

  @S3-39
  Scenario Outline: A link into another skill is refused: <link> to <target>
    Given a skill "mail" in "skills"
    And a skill "pdf" in "skills"
    And the file "skills/pdf/references/other.md" of the text "theirs"
    And the link "skills/mail/<link>" to "<target>"
    And the folder "skills" as a LENIENT source
    When the file "<path>" of "mail" is read
    Then it is refused as a ResourcePathError

    Examples:
      | link     | target                     | path              |
      | theirs   | ../pdf/references/other.md | theirs            |
      | refs     | ../pdf/references          | refs/other.md     |
      | skill.md | ../pdf/SKILL.md            | skill.md          |

  @S3-39
  Scenario: A link that stays inside its skill is followed
    Given a skill "mail" in "skills"
    And the file "skills/mail/references/guide.md" of the text "ours"
    And the link "skills/mail/guide.md" to "references/guide.md"
    And the link "skills/mail/refs" to "references"
    And the link "skills/mail/references/up.md" to "../references/guide.md"
    And the folder "skills" as a LENIENT source
    When the file "guide.md" of "mail" is read
    Then it holds "ours"
    When the file "refs/guide.md" of "mail" is read
    Then it holds "ours"
    When the file "references/up.md" of "mail" is read
    Then it holds "ours"

  Scenario: A source that refuses links refuses all of them
    Given a skill "mail" in "skills"
    And the file "skills/mail/references/guide.md" of the text "ours"
    And the link "skills/mail/guide.md" to "references/guide.md"
    And the folder "skills" as a LENIENT source that refuses links
    When the file "guide.md" of "mail" is read
    Then it is refused as a ResourcePathError

  @S3-59
  Scenario: Only the folder source judges links; a host's own tree is trusted as it is
    Given a skill "mail" in "skills"
    And the file "secret.md" of the text "wanted"
    And the link "skills/mail/linked.md" to "../../secret.md"
    And a tree of the host over "skills" as the source
    When the file "linked.md" of "mail" is read
    Then it holds "wanted"
    Given the folder "skills" as a LENIENT source
    When the file "linked.md" of "mail" is read
    Then it is refused as a ResourcePathError

  # --- bounds ---------------------------------------------------------------------------------------------------------

  @S3-42
  Scenario: A bounded read gives at most that many bytes and says that it is cut
    Given a skill "mail" in "skills"
    And the file "skills/mail/references/guide.md" of the text "# Reference\n"
    And the folder "skills" as a LENIENT source
    When at most 5 bytes of the file "references/guide.md" of "mail" are read
    Then it holds "# Ref" and is cut
    And it has 5 of 12 bytes
    When at most 12 bytes of the file "references/guide.md" of "mail" are read
    Then it holds "# Reference\n" and is complete
    When the file "references/guide.md" of "mail" is read from byte 5 on
    Then it holds "erence\n" and is complete

  Scenario: However much is asked for, a source reads no more than its own limit
    Given a skill "mail" in "skills"
    And the file "skills/mail/big.bin" of 300000 bytes
    And the limits
      | limit          | value |
      | resource_bytes | 1000  |
    And the folder "skills" as a LENIENT source
    When at most 200000 bytes of the file "big.bin" of "mail" are read
    Then it has 1000 of 300000 bytes
    And at most 20000 bytes were read

  @S3-43
  Scenario Outline: A bound of <bytes> bytes is refused
    Given a skill "mail" in "skills"
    And the file "skills/mail/a.md" of the text "a"
    And the folder "skills" as a LENIENT source
    When at most <bytes> bytes of the file "a.md" of "mail" are read
    Then it is refused as a LimitError
    And the message mentions "max_bytes"

    Examples:
      | bytes                |
      | 0                    |
      | -1                   |
      | 9223372036854775807  |
      | 99999999999999999999 |

  # --- handles --------------------------------------------------------------------------------------------------------

  @S3-46
  Scenario: Every handle is closed, whatever happens
    Given a skill "mail" in "skills"
    And the file "skills/mail/references/a.md" of the text "a"
    And the link "skills/mail/references/loop" to "loop"
    And the pipe "skills/mail/pipe" that nobody writes to
    And a SKILL.md without a description in "skills/broken"
    And the folder "skills" as a LENIENT source
    When the 1 skills of it are listed, loaded and read 20 times, the wrong way too
    Then no handle is left open

  @S3-45
  Scenario: Once a source knows its skills, one read opens SKILL.md once and the file once
    Given a skill "mail" in "skills"
    And the file "skills/mail/notes.md" of the text "n"
    And the folder "skills" as a LENIENT source
    When its skills are listed
    And the file "notes.md" of "mail" is read
    Then it holds "n"
    And "SKILL.md" was opened 1 times
    And "notes.md" was opened 1 times

  @S3-45
  Scenario: The very first read opens SKILL.md once as well
    Given a skill "mail" in "skills"
    And the file "skills/mail/notes.md" of the text "n"
    And the folder "skills/mail" as a LENIENT source
    When the file "notes.md" of "mail" is read
    Then "SKILL.md" was opened 1 times
    And "notes.md" was opened 1 times

  # --- not on disk ----------------------------------------------------------------------------------------------------

  @S2-42
  Scenario: Skills in memory serve their files without touching the disk
    Given these skills in memory
      | path                    | content                                                    |
      | mail/SKILL.md           | ---\nname: mail\ndescription: Sorts mail.\n---\nRead it.\n |
      | mail/references/a.md    | # From memory\n                                            |
      | mail/assets/logo.bin    | \x00\xff                                                   |
    When the files of "mail" are listed
    Then the files are
      | path            | kind      | size |
      | assets/logo.bin | asset     | 2    |
      | references/a.md | reference | 14   |
    And nothing on the disk was touched
    When the file "references/a.md" of "mail" is read
    Then it holds "# From memory\n"
    And nothing on the disk was touched
    When the file "assets/logo.bin" of "mail" is read
    Then it holds "\x00\xff"
    And nothing on the disk was touched
    When the file "../mail/SKILL.md" of "mail" is read
    Then it is refused as a ResourcePathError
