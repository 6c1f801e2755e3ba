Feature: Which skills a place holds
  A source lists the usable skills of a place by name and description, reading no body. STRICT leaves out whatever is
  not valid; LENIENT lists what can be used and reports the rest. One broken skill never hides the others.

  # --- listing --------------------------------------------------------------------------------------------------------

  @S3-19
  Scenario Outline: Every valid skill is listed with its description, sorted by name (<profile>)
    Given a skill "zebra-care" in "skills" that says "Feeds zebras."
    And a skill "mail-sorter" in "skills" that says "Sorts mail by sender."
    And a skill "pdf-forms" in "skills/office" that says "Fills forms."
    And the folder "skills" as a <profile> source
    When its skills are listed
    Then the skills are "mail-sorter, pdf-forms, zebra-care"
    And "mail-sorter" is described as "Sorts mail by sender."
    And "zebra-care" is described as "Feeds zebras."
    And nothing is reported

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-05
  Scenario: The file is named exactly SKILL.md; LENIENT takes another case and says so
    Given a skill "good" in "skills"
    And the file "skills/small/skill.md" of the text "---\nname: small\ndescription: D.\n---\nBody\n"
    And the file "skills/mixed/Skill.md" of the text "---\nname: mixed\ndescription: D.\n---\nBody\n"
    And the file "skills/plural/SKILLS.md" of the text "---\nname: plural\ndescription: D.\n---\nBody\n"
    And the folder "skills" as a STRICT source
    When its skills are listed
    Then the skills are "good"
    And a error "filename-case" about "skills/small/skill.md" is reported
    Given the folder "skills" as a LENIENT source
    When its skills are listed
    Then the skills are "good, mixed, small"
    And a warning "filename-case" about "skills/mixed/Skill.md" is reported

  @S3-20
  Scenario: STRICT leaves out whatever is not a valid skill, and reports each
    Given a skill "good" in "skills"
    And the file "skills/README.md" of the text "No skill."
    And a skill "Bad_Name" in "skills"
    And the folder "skills/nothing-here"
    And a SKILL.md without a description in "skills/broken"
    And the file "skills/no-fence/SKILL.md" of the text "# Markdown\n"
    And a skill "other" in the folder "skills/mismatch"
    And the file "skills/oversized/SKILL.md" of the text "---\nname: oversized\ndescription: D.\nlicense: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n---\nBody\n"
    And the limits
      | limit             | value |
      | frontmatter_bytes | 100   |
    And the folder "skills" as a STRICT source
    When its skills are listed
    Then the skills are "good"
    And a error "name-charset" about "skills/Bad_Name/SKILL.md" is reported
    And a error "description-missing" about "skills/broken/SKILL.md" is reported
    And a error "frontmatter-missing" about "skills/no-fence/SKILL.md" is reported
    And a error "name-dir-mismatch" about "skills/mismatch/SKILL.md" is reported
    And a error "file-too-large" about "skills/oversized/SKILL.md" is reported

  @S3-20
  Scenario: LENIENT lists what has a usable description, and reports the rest
    Given a skill "good" in "skills"
    And the file "skills/README.md" of the text "No skill."
    And a skill "Bad_Name" in "skills"
    And the folder "skills/nothing-here"
    And a SKILL.md without a description in "skills/broken"
    And a skill "other" in the folder "skills/mismatch"
    And the folder "skills" as a LENIENT source
    When its skills are listed
    Then the skills are "Bad_Name, good, other"
    And a warning "name-charset" about "skills/Bad_Name/SKILL.md" is reported
    And a error "description-missing" about "skills/broken/SKILL.md" is reported
    And a warning "name-dir-mismatch" about "skills/mismatch/SKILL.md" is reported

  @S3-22
  Scenario Outline: A folder that does not exist yet is empty (<profile>)
    Given the folder "skills/not/created/yet" as a <profile> source
    When its skills are listed
    Then there are no skills
    And a warning "folder-missing" about "skills/not/created/yet" is reported

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  Scenario: A host that wants to know early asks for a strict root
    Given the strict root "skills/not/there"
    Then it is refused as a SourceError
    And the message mentions "not found"

  @S3-21
  Scenario Outline: A root that cannot be read raises; it never looks empty (<profile>)
    Given a skill "mail-sorter" in "skills"
    And "skills" may not be read by this user
    And the folder "skills" as a <profile> source
    When its skills are listed
    Then it is refused as a SourceError
    And it is also a OSError
    And the message mentions "cannot be read"

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-21
  Scenario Outline: A root that is <what> raises as well
    Given the file "file" of the text "x"
    And the link "loop" to "loop"
    And the folder "<root>" as a LENIENT source
    When its skills are listed
    Then it is refused as a SourceError
    And the message mentions "<says>"

    Examples:
      | what          | root | says            |
      | a file        | file | not a directory |
      | a link circle | loop | cannot be read  |

  @S3-21
  Scenario: A folder below that cannot be read raises under STRICT; LENIENT reports it and goes on
    Given a skill "good" in "skills"
    And a skill "hidden" in "skills/secret"
    And "skills/secret" may not be read by this user
    And the folder "skills" as a STRICT source
    When its skills are listed
    Then it is refused as a SourceError
    Given the folder "skills" as a LENIENT source
    When its skills are listed
    Then the skills are "good"
    And a warning "folder-unreadable" about "skills/secret" is reported

  @S3-21
  Scenario: LENIENT says that a SKILL.md may not be read, not that there is none
    Given a skill "good" in "skills"
    And a skill "secret" in "skills"
    And "skills/secret/SKILL.md" may not be read by this user
    And the folder "skills" as a LENIENT source
    When the skill "secret" is loaded
    Then it is refused as a SkillError
    And the message mentions "cannot be read"
    And the message does not mention "has no SKILL.md"

  # --- reading little -------------------------------------------------------------------------------------------------

  @S1-20 @S3-24
  Scenario Outline: Listing reads the frontmatter, not the body (<profile>)
    Given a skill "long-one" in "skills" with a body of 900000 bytes
    And a skill "long-two" in "skills" with a body of 900000 bytes
    And the folder "skills" as a <profile> source
    When its skills are listed
    Then the skills are "long-one, long-two"
    And at most 20000 bytes were read
    And "SKILL.md" was opened 2 times

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-33
  Scenario: Level 1 of one skill is looked up from its frontmatter
    Given a skill "long-one" in "skills" with a body of 900000 bytes
    And the folder "skills" as a LENIENT source
    When the skill "long-one" is looked up
    Then its level 1 is "long-one", "Does long-one."
    And at most 20000 bytes were read

  @S3-33
  Scenario: Looking up sees what is on the disk now, and says when there is nothing
    Given a skill "mail" in "skills"
    And the folder "skills" as a LENIENT source
    When the skill "mail" in "skills" is changed to say "Something new."
    And the skill "mail" is looked up
    Then its level 1 is "mail", "Something new."
    When the skill "post" is looked up
    Then it is refused as a SkillNotFoundError

  # --- limits ---------------------------------------------------------------------------------------------------------

  @S3-03
  Scenario: The bounds are public, with names and defaults
    When the minimal limits are asked for
    Then they are
      | limit             | value   |
      | entries           | 512     |
      | frontmatter_bytes | 65536   |
      | skill_bytes       | 1048576 |
      | resource_bytes    | 1048576 |
    When the default limits are asked for
    Then they are
      | limit             | value   |
      | entries           | 2000    |
      | frontmatter_bytes | 65536   |
      | skill_bytes       | 1048576 |
      | resource_bytes    | 1048576 |
      | resources         | 512     |
      | depth             | 6       |
      | directories       | 2000    |
    When limits are made with entries = 20000
    Then they are
      | limit   | value |
      | entries | 20000 |

  @S3-04
  Scenario: None means the default
    When limits are made with skill_bytes = None
    Then they are
      | limit       | value   |
      | skill_bytes | 1048576 |

  @S3-04
  Scenario Outline: A bound that makes no sense is refused when it is made: <name> = <value>
    When limits are made with <name> = <value>
    Then it is refused as a LimitError
    And it is also a ValueError
    And the message mentions "<name>"

    Examples:
      | name              | value   |
      | entries           | 0       |
      | entries           | -1      |
      | skill_bytes       | 2**63   |
      | resource_bytes    | 10**30  |
      | frontmatter_bytes | 2**20+1 |
      | depth             | 1.5     |
      | resources         | True    |
      | directories       | "10"    |

  @S3-23
  Scenario: More entries than the limit, invalid ones counted: STRICT raises, LENIENT keeps what it has and says so
    Given a skill "aa" in "skills"
    And a skill "bb" in "skills"
    And the file "skills/cc.txt" of the text "x"
    And the file "skills/dd.txt" of the text "x"
    And a skill "ee" in "skills"
    And the limits
      | limit   | value |
      | entries | 4     |
    And the folder "skills" as a STRICT source
    When its skills are listed
    Then it is refused as a LimitError
    And the message mentions "entries"
    Given the folder "skills" as a LENIENT source
    When its skills are listed
    Then the skills are "aa, bb"
    And a warning "scan-limit" about "skills" is reported

  @S3-23
  Scenario Outline: Exactly as many entries as the limit are no problem (<profile>)
    Given a skill "aa" in "skills"
    And a skill "bb" in "skills"
    And the file "skills/cc.txt" of the text "x"
    And the limits
      | limit   | value |
      | entries | 3     |
    And the folder "skills" as a <profile> source
    When its skills are listed
    Then the skills are "aa, bb"
    And nothing is reported

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-25
  Scenario Outline: The frontmatter's bound counts raw bytes, with BOM, CR and fences: <size> (<profile>)
    # BOM 3, "---" 5, "name: a" 9, "description: D." 17, "---" 5
    Given the file "skills/a/SKILL.md" of the text "\xef\xbb\xbf---\r\nname: a\r\ndescription: D.\r\n---\r\nBody\r\n"
    And the limits
      | limit             | value  |
      | frontmatter_bytes | <size> |
    And the folder "skills" as a <profile> source
    When its skills are listed
    Then the skills are "<names>"
    And the reported codes are "<codes>"
    When the skill "a" is loaded
    Then <outcome>

    Examples:
      | profile | size | names | codes                        | outcome                                  |
      | STRICT  | 39   | a     | encoding-bom                 | it says "Body"                           |
      | STRICT  | 38   |       | encoding-bom, file-too-large | it is refused as a ContentTooLargeError  |
      | LENIENT | 39   | a     | encoding-bom                 | it says "Body"                           |
      | LENIENT | 38   |       | encoding-bom, file-too-large | it is refused as a ContentTooLargeError  |

  @S3-26
  Scenario Outline: A longer line that the bound cuts to a fence is too large, not an end (<size> bytes)
    # "---\nname: a\ndescription: D.\n" is 28 bytes; "---" of "-----" would end at 31
    Given the file "skills/a/SKILL.md" of the text "---\nname: a\ndescription: D.\n-----\nBody\n"
    And the limits
      | limit             | value  |
      | frontmatter_bytes | <size> |
    And the folder "skills" as a STRICT source
    When its skills are listed
    Then there are no skills
    And the reported codes are "file-too-large"
    When the skill "a" is loaded
    Then it is refused as a ContentTooLargeError

    Examples:
      | size |
      | 30   |
      | 31   |
      | 32   |

  @S3-28
  Scenario Outline: A skill over the size bound is listed and cannot be loaded (<profile>)
    Given a skill "huge" in "skills" with a body of 5000 bytes
    And the limits
      | limit             | value |
      | frontmatter_bytes | 1000  |
      | skill_bytes       | 5000  |
    And the folder "skills" as a <profile> source
    When its skills are listed
    Then the skills are "huge"
    When the skill "huge" is loaded
    Then it is refused as a ContentTooLargeError
    And it is also a InvalidSkillError
    And the message mentions "larger than 5000 bytes"

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  # --- one skill ------------------------------------------------------------------------------------------------------

  @S1-21
  Scenario Outline: Loading gives the whole body (<profile>)
    Given a skill "mail" in "skills" with the body
      """
      # Mail

      1. Open the inbox.
      2. Sort it.
      """
    And the folder "skills" as a <profile> source
    When the skill "mail" is loaded
    Then it says "# Mail"
    And it says "2. Sort it."

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-27
  Scenario Outline: STRICT judges a name before it looks at the disk: <name>
    Given a skill "mail" in "skills"
    And the folder "skills" as a STRICT source
    When the skill "<name>" is loaded
    Then it is refused as a SkillError
    And nothing on the disk was touched

    Examples:
      | name                |
      | ../../etc           |
      | /etc                |
      | UPPER               |
      | a--b                |
      | nested/skill        |

  @S3-27
  Scenario Outline: A name that is none is refused before the disk is looked at (<profile>)
    Given a skill "mail" in "skills"
    And the folder "skills" as a <profile> source
    When the skill "" is loaded
    Then it is refused as a SkillNotFoundError
    And the message mentions "must not be empty"
    And nothing on the disk was touched
    When the skill "   " is loaded
    Then it is refused as a SkillNotFoundError
    And nothing on the disk was touched
    When a skill without a name is loaded
    Then it is refused as a SkillNotFoundError
    And nothing on the disk was touched

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  Scenario Outline: A name is never joined to a path: <name>
    Given a skill "mail" in "skills"
    And a skill "outside" in "elsewhere"
    And the folder "skills" as a LENIENT source
    When the skill "<name>" is loaded
    Then it is refused as a SkillNotFoundError

    Examples:
      | name                 |
      | ../elsewhere/outside |
      | ../elsewhere         |
      | mail/..              |
      | .                    |

  @S3-29
  Scenario Outline: A missing skill is a missing file, and not an invalid skill (<profile>)
    Given a skill "mail-sorter" in "skills"
    And the folder "skills" as a <profile> source
    When the skill "mail-sortr" is loaded
    Then it is refused as a SkillNotFoundError
    And it is also a FileNotFoundError
    And it is not a InvalidSkillError
    And the message mentions "Did you mean 'mail-sorter'?"

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-30
  Scenario Outline: A malformed skill is an invalid skill that carries its causes: <cause> (<profile>)
    Given the file "skills/bad/SKILL.md" of the text "<content>"
    And the folder "skills" as a <profile> source
    When the skill "bad" is loaded
    Then it is refused as a InvalidSkillError
    And it is also a ValueError
    And it is not a SkillNotFoundError
    And the error carries the cause "<cause>"

    Examples:
      | profile | cause                   | content                                             |
      | STRICT  | description-missing     | ---\nname: bad\n---\nBody\n                         |
      | LENIENT | description-missing     | ---\nname: bad\n---\nBody\n                         |
      | STRICT  | frontmatter-unclosed    | ---\nname: bad\ndescription: D.\n                   |
      | LENIENT | frontmatter-unclosed    | ---\nname: bad\ndescription: D.\n                   |
      | STRICT  | yaml-invalid            | ---\nname: bad\ndescription: a: b\n---\nBody\n      |
      | LENIENT | yaml-unsafe             | ---\nname: bad\ndescription: !!python/x y\n---\nB\n |
      | STRICT  | name-dir-mismatch       | ---\nname: good\ndescription: D.\n---\nBody\n       |

  @S3-31
  Scenario Outline: A folder without SKILL.md owns its name: it is an invalid skill, not a missing one (<profile>)
    Given a skill "mail" in "skills"
    And the file "skills/pdf/notes.txt" of the text "later"
    And the folder "skills" as a <profile> source
    When the skill "pdf" is loaded
    Then it is refused as a InvalidSkillError
    And it is not a SkillNotFoundError
    And the error carries the cause "skill-file-missing"

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-32
  Scenario Outline: What changes on the disk is seen at the next call (<profile>)
    Given a skill "mail" in "skills" that says "Old."
    And the folder "skills" as a <profile> source
    When its skills are listed
    Then "mail" is described as "Old."
    When the skill "mail" in "skills" is changed to say "New."
    And the skill "mail" is loaded
    Then it is described as "New."
    When its skills are listed
    Then "mail" is described as "New."
    When the skill "pdf" in "skills" is changed to say "Just made."
    And its skills are listed
    Then the skills are "mail, pdf"
    When the folder "skills/mail" is removed
    And its skills are listed
    Then the skills are "pdf"

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  # --- where skills lie -----------------------------------------------------------------------------------------------

  Scenario: Skills may lie in groups; hidden and dependency folders are not searched
    Given a skill "top" in "skills"
    And a skill "deep" in "skills/a/b/c"
    And a skill "dependency" in "skills/node_modules"
    And a skill "hook" in "skills/.git"
    And the folder "skills" as a LENIENT source
    When its skills are listed
    Then the skills are "deep, top"

  Scenario: The root may be a skill itself, also a hidden folder
    Given a skill "mail" in ".claude/skills"
    And the folder ".claude/skills/mail" as a STRICT source
    When its skills are listed
    Then the skills are "mail"
    Given the folder ".claude/skills" as a STRICT source
    When its skills are listed
    Then the skills are "mail"

  Scenario: A SKILL.md inside a skill is one of its files
    Given a skill "outer" in "skills"
    And a skill "inner" in "skills/outer/steps"
    And the folder "skills" as a LENIENT source
    When its skills are listed
    Then the skills are "outer"

  Scenario: Of two skills with one name the first is used, and the other can still be asked for
    Given a skill "mail" in "skills/a" that says "The first."
    And a skill "mail" in "skills/b" that says "The second."
    And the folder "skills" as a LENIENT source
    When its skills are listed
    Then "mail" is described as "The first."
    And a warning "duplicate-name" about "skills/b/mail/SKILL.md" is reported
    When the skill "mail@b/mail" is loaded
    Then it is described as "The second."

  Scenario: A linked skill folder may not lie outside the root
    Given a skill "mail" in "skills"
    And a skill "evil" in "elsewhere"
    And the link "skills/evil" to "../elsewhere/evil"
    And the link "skills/again" to "mail"
    And the folder "skills" as a LENIENT source
    When its skills are listed
    Then the skills are "mail"
    And a warning "symlink-escape" about "skills/evil" is reported
    And a warning "symlink-loop" about "skills/again" is reported

  Scenario: Folders deeper than the limit are reported, not searched
    Given a skill "near" in "skills/1"
    And a skill "far" in "skills/1/2/3"
    And the limits
      | limit | value |
      | depth | 2     |
    And the folder "skills" as a LENIENT source
    When its skills are listed
    Then the skills are "near"
    And the reported codes are "depth-limit"
    Given the folder "skills" as a STRICT source
    When its skills are listed
    Then it is refused as a LimitError

  # --- what a source is -----------------------------------------------------------------------------------------------

  @S3-01
  Scenario: Levels 1 and 2 need two methods; bundled files add the others
    Given a skill "mail" in "skills" that says "Sorts mail."
    And a source of a host that only lists and loads "skills"
    Then it is a SkillSource and no ResourceSource
    When its skills are listed
    Then "mail" is described as "Sorts mail."
    When the skill "mail" is loaded
    Then it says "# mail"
    Given the folder "skills" as a LENIENT source
    Then it is a SkillSource and a ResourceSource
